"""Where a function jumps or bends.

`value` and `gradient` are functions from points to numbers, float64 tensors of shape (n,).
"""

import math
from collections.abc import Callable, Generator

import torch

from autograd_surprises.numerics.differences import slope_search
from autograd_surprises.numerics.searches import run, together

CUTS = 16  # each interval is cut in 16, and then again and again
POINTS = 4096  # few intervals are cut in more, as many as make so many points
SMOOTH_SHARE = 1 / 8  # a smooth function changes by about 1/16 of that in each part
EPS = torch.finfo(torch.float64).eps
TINY = 1e-15  # of the whole width: around 0 the float neighbours are absurdly close


def find_jumps(value: Callable, x: torch.Tensor) -> torch.Tensor:
    """Both sides of the largest jump of `value` in each interval between two x.

    >>> find_jumps(torch.ceil, torch.tensor([0.5, 1.5]).double())
    tensor([1.0000, 1.0000], dtype=torch.float64)
    """
    (jumps,) = run(jump_search(x), lambda x, _: [value(x)])
    return jumps


def jump_search(x: torch.Tensor, rows: int = 1) -> Generator:
    """`find_jumps` of each of so many rows of numbers, as a search."""
    cuts = _evenly(x[:-1, None], x[1:, None], CUTS)
    numbers = yield cuts.flatten(), rows
    tiny = TINY * (x[-1] - x[0]).item()
    searches = [_narrow(cuts, numbers[row].view_as(cuts), row, tiny) for row in range(rows)]
    return (yield from together(*searches))


def _narrow(cuts, y, row, tiny):
    """A search for the jumps of this row, which has the numbers y at these cuts of intervals."""
    change = (y[:, -1] - y[:, 0]).abs().nan_to_num(0, posinf=0)
    biggest, where = _biggest_changes(y)
    keep = biggest > change * SMOOTH_SHARE
    if keep.any():
        rounding = noise(torch.cat([y[:, 0], y[-1:, -1]]))
        keep = biggest > change * SMOOTH_SHARE + rounding
    while True:
        kept = keep.nonzero()[:, 0]
        where = where[kept]
        left, right = cuts[kept, where], cuts[kept, where + 1]
        if _done(left, right, tiny):
            return torch.cat([left, right])
        cuts = _cut(left, right, tiny)
        y = (yield cuts.flatten(), row + 1)[row].view_as(cuts)
        change = biggest[kept].nan_to_num(posinf=0)
        biggest, where = _biggest_changes(y)
        keep = biggest > change * 0.45 + rounding  # a tie may split a jump into two halves


def _biggest_changes(y):
    """Of each row, the biggest change from one number to the next, and where it is."""
    changes = y.diff().abs()
    biggest, where = changes.max(dim=1)
    if math.isfinite(biggest.sum()):
        return biggest, where
    ends = y.isfinite().diff()  # a pole, or the end of where the function is defined
    return changes.nan_to_num(0, posinf=0).masked_fill(ends, torch.inf).max(dim=1)


def _done(left, right, tiny):
    """Are all of these intervals as narrow as can be? Also if there is none."""
    return all(
        math.nextafter(a, b) == b or -tiny <= a <= b <= tiny
        for a, b in zip(left.tolist(), right.tolist(), strict=True)
    )


def _cut(left, right, tiny):
    """Cuts of each interval: evenly, and float by float around the roundest number in it.

    Most jumps are there, and so found at once.
    """
    digits = min(300, math.floor(-math.log10((right - left).max().item())))
    middle = (left + right) / 2
    round_number = torch.round(middle, decimals=digits)
    reach = (16 * EPS * round_number.abs()).where(round_number != 0, tiny)
    inside = (left <= round_number + reach) & (round_number - reach <= right)
    middle = round_number.where(inside, middle)
    ends = torch.stack([left, middle - reach, middle + reach, right], dim=1)
    ends = ends.maximum(left[:, None]).minimum(right[:, None])
    parts = max(CUTS, POINTS // ends.numel())
    return _evenly(ends[:, :-1, None], ends[:, 1:, None], parts).flatten(1)


def _evenly(left, right, parts):
    cuts = torch.lerp(left, right, torch.linspace(0, 1, parts + 1, dtype=torch.float64))
    cuts[..., -1:] = right  # lerp may stop one float short of it
    return cuts


def find_kinks(value: Callable, x: torch.Tensor) -> torch.Tensor:
    """Where the slope of `value` jumps between two x: their tangents meet on the curve.

    >>> find_kinks(lambda x: (x - 0.5).abs(), torch.tensor([-1.0, 0.7, 1.0]).double())
    tensor([0.5000], dtype=torch.float64)
    """
    size = (x[-1] - x[0]).item()
    return run(_find_kinks(x, size), lambda x, _: [value(x)])


def _find_kinks(x, size):
    (y,), left, right = yield from slope_search(x, size)
    return (yield from kink_search(x, y, left, right, size))


def kink_search(
    x: torch.Tensor, y: torch.Tensor, left: torch.Tensor, right: torch.Tensor, size: float
) -> Generator:
    """`find_kinks` between x with these values and slopes, as a search.

    x may go through the interval, which has this size, several times.
    """
    width, slope, next_slope = x.diff(), right[:-1], left[1:]
    bend = next_slope - slope
    kink = x[:-1] + (y.diff() - next_slope * width) / -bend
    # a kink is no rounding of a straight line, and lies between the two points
    found = (
        (bend.abs() > 1e-6 * (slope.abs() + next_slope.abs())) & (kink > x[:-1]) & (kink < x[1:])
    ).nonzero()[:, 0]
    if not len(found):
        return kink[found]
    kink, start, y = kink[found], x[found], y[found]
    gap = (yield kink, 1)[0] - (y + slope[found] * (kink - start))
    # a smooth curve leaves the corner of its tangents by 1/8 of this
    sharp = gap.abs() < 1e-3 * (bend[found] * width[found]).abs()
    return torch.round(kink[sharp], decimals=9 - math.floor(math.log10(size)))


def noise(values: torch.Tensor) -> float:
    """The size of change that rounding alone can make.

    >>> noise(torch.tensor([0.0, 0.5, 1.0]).double()) < 1e-8
    True
    """
    finite = values.sort().values
    if not (math.isfinite(finite[0]) and math.isfinite(finite[-1])):
        finite = finite[finite.isfinite()]
    if not len(finite):
        return 0.0
    low, middle, high = (finite[len(finite) * k // 10].item() for k in (1, 5, 9))
    return 1e-9 * (high - low) + 1e-12 * abs(middle)
