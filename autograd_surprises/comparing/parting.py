"""Where two watched steps part: the first value, the first operation of backward, and why."""

from difflib import SequenceMatcher
from itertools import zip_longest

import torch

from autograd_surprises.comparing.running import Run, beyond, difference, distance, rounding
from autograd_surprises.numerics import distinct_digits, few_digits
from autograd_surprises.show.findings import Sentence, listed


def where_they_part(a: Run, b: Run, relative: float, name: str) -> tuple[str, list[Sentence]]:
    """Where two runs part on the way to the gradient of a parameter: a reason or "", and lines.

    relative  the usual relative rounding error of a gradient

    >>> w, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    >>> steps = lambda: w(x).relu().sum(), lambda: w(x).sigmoid().sum()
    >>> a, b = (Run(step, "", dict(w.named_parameters()), w) for step in steps)
    >>> where_they_part(a, b, 1e-7, "weight")[0]
    'other operations: relu in a, sigmoid in b'
    """
    steps, left, have_partners = _first_operation(a, b, relative, name)
    rows = [(f"in {x}", str(ran[0].where)) for x, ran in zip("ab", steps, strict=True)
            if ran and ran[0].where]  # fmt: skip
    rows += _first_values(a.values, b.values, relative)
    if None not in left and left[0].shape == left[1].shape:
        rows.append(("gradient there", in_numbers(*left)))
    if have_partners:
        return "", rows
    names = (
        listed([s.own_name if s.is_users else s.operation for s in each], most=6) or "nothing"
        for each in steps
    )
    return f"other operations: {' in a, '.join(names)} in b", rows


def in_numbers(a: torch.Tensor | None, b: torch.Tensor | None) -> str:
    """Both numbers where they differ most.

    >>> in_numbers(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
    '2 in a, 5 in b at [1]'
    """
    apart = difference(a, b).abs().nan_to_num(torch.inf)
    place = [int(i) for i in torch.unravel_index(apart.argmax(), apart.shape)]
    numbers = [t if t is None else t[tuple(place)] for t in (a, b)]
    numbers = [n if n is None else n.abs().item() if n.is_complex() else n.item() for n in numbers]
    if None in numbers:
        here, there = ("None" if n is None else few_digits(n) for n in numbers)
    else:
        here, there = distinct_digits(*numbers)
    return f"{here} in a, {there} in b" + (f" at {place}" if place else "")


def _differ(mine, theirs, relative):
    if mine is None or theirs is None:
        return mine is not theirs and bool((theirs if mine is None else mine).any())
    if mine.shape != theirs.shape:
        return True
    return beyond(distance(mine, theirs), rounding(mine, relative))


def _aligned(a, b):
    """Pairs of positions with equal elements, in order; each position at most once."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]


def _first_values(a, b, relative):
    """The first calls of the forward pass whose results differ, or what one alone calls before."""
    agreed = (-1, -1)
    for i, j in _aligned(*([name for name, _, _ in values] for values in (a, b))):
        if _differ(a[i][2], b[j][2], relative):
            both = (("a", *a[agreed[0] + 1]), ("b", *b[agreed[1] + 1]))
            return [(f"first value, in {x}", f"{name}: {at}") for x, name, at, _ in both if at]
        agreed = (i, j)
    return []


def _first_operation(a, b, relative, name):
    """(operations of both, gradients there, is it the same one?), in the order of backward.

    Another gradient arrives at it, or leaves it; or one run alone has these before it, or others.
    """
    agreed = -1, -1
    for i, j in _aligned(a.keys, b.keys):
        mine, theirs = a.ran[i], b.ran[j]
        alone = a.ran[agreed[0] + 1 : i], b.ran[agreed[1] + 1 : j]
        for pair in zip_longest(mine.gradients_in, theirs.gradients_in):
            if _differ(*pair, relative):
                return (alone, pair, False) if any(alone) else (([mine], [theirs]), pair, True)
        for pair in zip_longest(mine.gradients_out, theirs.gradients_out):
            # What has no gradient, or another shape, came from the operation that gets this one.
            comparable = None not in pair and pair[0].shape == pair[1].shape
            if comparable and _differ(*pair, relative):
                return ([mine], [theirs]), pair, True
        agreed = i, j
    alone = a.ran[agreed[0] + 1 :], b.ran[agreed[1] + 1 :]
    return alone, (a.gradients[name], b.gradients[name]), not any(alone)
