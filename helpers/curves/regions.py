"""The regions of a curve: where its numbers are infinite or NaN, and which they are, in words."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch

from autograd_surprises.numerics import few_digits

MANY_REGIONS = 6
LONG = 50  # characters: value, gradient and where they differ have to fit on one line


def not_finite(x: torch.Tensor, values: torch.Tensor) -> list[tuple[str, float, float]]:
    """("inf", "-inf" or "NaN", first x, last x) of each run of values that are not finite.

    >>> x = torch.tensor([-1.0, 0.0, 1.0]); not_finite(x, torch.log(x))
    [('NaN', -1.0, -1.0), ('-inf', 0.0, 0.0)]
    """
    if values.isfinite().all():
        return []
    ends = [0, *(i + 1 for i in _breaks(values)), len(x)]
    return [
        (number_word(values[start]), x[start].item(), x[stop - 1].item())
        for start, stop in pairwise(ends)
        if not values[start].isfinite()
    ]


def describe_regions(
    x: torch.Tensor, values: torch.Tensor, ordinary: torch.Tensor, jumps: Sequence[int]
) -> str:
    """Which values lie where: each region that ends at a jump, at infinity or at NaN.

    Where that would be long, the range of all values, without a comma, and what is not finite.
    `ordinary` masks the finite values that count; values[i] jumps to values[i + 1] at `jumps`.

    >>> x = torch.tensor([-1.0, 0.0, 1e-9, 1.0]); everywhere = torch.ones(4, dtype=torch.bool)
    >>> describe_regions(x, (x > 0).double(), everywhere, [1])
    '0 below 0, 1 above 0'
    """
    # what only the neighbours of a pole reach is no jump
    jumps = [i for i in jumps if ordinary[i] and ordinary[i + 1]]
    ends = sorted({*_breaks(values), *jumps})
    if len(ends) < MANY_REGIONS:
        text = _in_words(x, values.numpy(), ordinary.numpy(), ends)
        if len(text) <= LONG:
            return text
    width = (x[-1] - x[0]).item()
    places = {}
    for word, *ends in not_finite(x, values):
        places.setdefault(word, []).append(ends)
    named = [f"{word} {name_places(ends, width)}" for word, ends in places.items()]
    return ", ".join([span(values[ordinary]), *named])


def name_places(intervals: Sequence[tuple[float, float]], width: float) -> str:
    """Some intervals of x in words, or how many they are; a single point has two equal ends.

    >>> name_places([(-3.0, -1.0), (0.0, 0.0)], width=6)
    'from -3 to -1 and at 0'
    """
    if len(intervals) > 3:
        return f"in {len(intervals)} places"
    names = [[_name(end, width) for end in interval] for interval in intervals]
    return " and ".join(f"from {a} to {b}" if a != b else f"at {a}" for a, b in names)


def span(values: torch.Tensor, rounding: float = 0.0) -> str:
    """The range of some numbers in words; those that differ by no more than rounding are one.

    >>> span(torch.tensor([0.0, 1.0])), span(torch.tensor([1000.0, 1003.0]))
    ('0 to 1', '1000 to 1003')
    """
    if not len(values):
        return "nowhere finite"
    low, high = values.min().item(), values.max().item()
    reach = max(abs(low), abs(high))
    rounding = max(rounding, 1e-9 * reach)
    low, high = (end if abs(end) > rounding else 0.0 for end in (low, high))
    if high - low <= rounding:
        return few_digits(low, 4)
    # three digits of the distance between both ends, which may need more of the ends
    digits = 3 + math.floor(math.log10(max(1.0, reach / (high - low))))
    return f"{few_digits(low, digits)} to {few_digits(high, digits)}"


def number_word(number: float) -> str:
    """A number as a summary says it.

    >>> number_word(2 / 3), number_word(torch.nan)
    ('0.6667', 'NaN')
    """
    return few_digits(number, 4).replace("nan", "NaN")


def _breaks(values):
    """Each i such that only one of values[i] and values[i + 1] is finite, or inf, or NaN."""
    finite = values.isfinite()
    if finite.all():
        return []
    kinds = values.masked_fill(finite, 0).nan_to_num(nan=2, posinf=1, neginf=-1)
    return kinds.diff().nonzero().flatten().tolist()


def _name(x, width):
    """A place on an interval of this width, to about a thousandth of it."""
    return few_digits(round(x, 2 - math.floor(math.log10(width))), 12)


def _in_words(x, values, ordinary, breaks):
    """What lies where, if a region ends behind each x[i] for i in breaks."""
    ends = [0, *(i + 1 for i in breaks), len(x)]
    found = [_what(values[a:b], ordinary[a:b]) for a, b in pairwise(ends)]
    if not breaks:
        return found[0]
    wheres = {}
    for what, where in zip(found, _wheres(x, breaks), strict=True):
        wheres.setdefault(what, []).append(where)
    around = wheres.pop(found[0], []) if found[0] == found[-1] else []
    # regions first, then single points
    parts = sorted(wheres.items(), key=lambda part: part[1][0].startswith("at "))
    texts = [f"{what} {' and '.join(where).replace(' and at ', ' and ')}" for what, where in parts]
    if around:
        outside = len(around) == 2 and not parts[0][1][0].startswith("at ")
        texts.append(f"{found[0]} {'outside' if outside else 'elsewhere'}")
    return ", ".join(texts)


def _what(values, ordinary):
    if not math.isfinite(values[0]):
        return number_word(values[0])
    return span(values[ordinary] if ordinary.any() else values)


def _wheres(x, breaks):
    """Words for each region. They do not say which of two regions owns a shared end.

    (For `torch.clamp` that depends on the version of torch.)
    """
    low, high = x[[0, -1]].tolist()
    names = [_name(place, high - low) for place in (low, *x[breaks].tolist(), high)]
    points = {a for a, b in pairwise(names) if a == b}
    wheres = []
    for k, (a, b) in enumerate(pairwise(names)):
        if a == b:
            where = f"at {a}"
        elif k == 0:
            where = f"below {b}"
        elif k == len(breaks):
            where = f"above {a}"
        else:  # without its ends, if they are points with another value
            where = f"between {a} and {b}" if {a, b} & points else f"from {a} to {b}"
        wheres.append(where)
    return wheres
