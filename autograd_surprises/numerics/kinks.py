"""Where a function jumps or bends, and a whole curve with what is at and beside these places.

`value` and `gradient` are functions from points to numbers, float64 tensors of shape (n,).
"""

import math
from collections.abc import Callable, Iterable

import torch

from autograd_surprises.numerics.differences import rows_and_slopes

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
    tiny = TINY * (x[-1] - x[0]).item()
    cuts = _evenly(x[:-1, None], x[1:, None], CUTS)
    y = value(cuts.flatten()).view_as(cuts)
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
        y = value(cuts.flatten()).view_as(cuts)
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
    (y,), left, right = rows_and_slopes(lambda points: [value(points)], x, size)
    return _kinks_between(value, x, y, left, right, size)


def _kinks_between(value, x, y, left, right, size):
    """Those between x with these values and slopes.

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
    gap = value(kink) - (y + slope[found] * (kink - start))
    # a smooth curve leaves the corner of its tangents by 1/8 of this
    sharp = gap.abs() < 1e-3 * (bend[found] * width[found]).abs()
    return torch.round(kink[sharp], decimals=9 - math.floor(math.log10(size)))


def noise(values: torch.Tensor) -> float:
    """The size of change that rounding alone can make."""
    finite = values.sort().values
    if not (math.isfinite(finite[0]) and math.isfinite(finite[-1])):
        finite = finite[finite.isfinite()]
    if not len(finite):
        return 0.0
    low, middle, high = (finite[len(finite) * k // 10].item() for k in (1, 5, 9))
    return 1e-9 * (high - low) + 1e-12 * abs(middle)


def even_grid(low: float, high: float, points: int) -> torch.Tensor:
    """Evenly spaced points in float64, with a 0 that is exact.

    >>> even_grid(-0.7, 0.4, 12)[7]
    tensor(0., dtype=torch.float64)
    """
    grid = torch.linspace(low, high, points, dtype=torch.float64)
    return grid.masked_fill(grid.abs() <= TINY * (high - low), 0)


def measure_curve(
    function: Callable, grid: torch.Tensor, kinks: Iterable[float] = ()
) -> tuple[torch.Tensor, ...]:
    """x, value, gradient, slope to the left, slope to the right.

    `function(x, rows)` returns the values at x and, if `rows` is 2, the gradients; all is float64.
    x holds the grid, 0, the kinks given, and the jumps and kinks found, each with its neighbours.

    >>> function = lambda x, rows: [x.relu(), (x > 0).double()]
    >>> len(measure_curve(function, torch.tensor([-1.0, 0.5]).double())[0])
    5
    """

    def value(points):
        return function(points, 1)[0]

    def both(points):
        return function(points, 2)

    low, high, special = grid[0].item(), grid[-1].item(), [0.0, *kinks]
    x = _with_special(grid, special, low, high)
    jumps = find_jumps(value, grid)
    if len(jumps) > len(grid) / 4:  # so many that intervals may hide a second one
        jumps = torch.cat([jumps, find_jumps(value, torch.cat([grid, jumps]).unique())])
    bends = find_jumps(lambda points: both(points)[1], grid)
    # a kink on a point of the grid lies between two midpoints, and is found there
    midpoints = torch.cat([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    points, n, width = torch.cat([x, midpoints]), len(x), high - low
    (y, grad), left, right = rows_and_slopes(both, points, width, along=n)
    between = torch.cat([torch.searchsorted(x, grid), torch.arange(n, len(points))])
    corners = _kinks_between(value, *(each[between] for each in (points, y, left, right)), width)
    more = _with_special(grid, [*special, *torch.cat([jumps, bends, corners]).tolist()], low, high)
    if len(more) == n:
        return x, y[:n], grad[:n], left[:n], right[:n]
    (y, grad), left, right = rows_and_slopes(both, more, width)
    return more, y, grad, left, right


def _with_special(grid, special, low, high):
    """The grid and the special points in it, each with its neighbours."""
    tiny, points = TINY * (high - low), []
    for x in special:
        if abs(x) <= tiny:
            points += [-tiny, 0, tiny]
        elif low <= x <= high:
            points += [math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)]
    points = torch.tensor(points, dtype=torch.float64)
    return torch.cat([grid, points]).clamp(low, high).unique()
