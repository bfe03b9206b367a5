"""Which elements of two sequences belong together, where they are the same or nearly so."""

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher


def aligned(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of positions with equal elements, in order; each position at most once.

    >>> aligned("mean pow sub".split(), "sum div pow sub".split())
    [(1, 2), (2, 3)]
    """
    shortest = min(len(a), len(b))
    start = next((i for i in range(shortest) if a[i] != b[i]), shortest)
    rest = shortest - start
    end = next((i for i in range(rest) if a[-1 - i] != b[-1 - i]), rest)
    # Two models differ in few operations: what is in between is short.
    middle = SequenceMatcher(None, a[start : len(a) - end], b[start : len(b) - end], autojunk=False)
    pairs = [(i, i) for i in range(start)]
    for i, j, length in middle.get_matching_blocks():
        pairs += [(start + i + k, start + j + k) for k in range(length)]
    return [*pairs, *((len(a) - k, len(b) - k) for k in range(end, 0, -1))]


def agreed_before(
    a: Sequence[Hashable], b: Sequence[Hashable], differ: Callable[[int, int], bool]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first pair of positions that differ, after the last pair before it; or both ends.

    >>> agreed_before("xyz", "xayz", lambda i, j: i == 1)
    ((0, 0), (1, 2))
    """
    agreed = (-1, -1)
    for pair in aligned(a, b):
        if differ(*pair):
            return agreed, pair
        agreed = pair
    return agreed, (len(a), len(b))
