"""Where a function jumps or bends, and the points to look at: evenly, and beside these places.

`value` and `gradient` are functions from points to numbers, float64 tensors of shape (n,).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch

from autograd_surprises.numerics.differences import one_sided_slopes

CUTS = 16  # each interval is cut in 16, again and again
SMOOTH_SHARE = 1 / 8  # a smooth function changes by about 1/16 of that in each part


def special_points(
    value: Callable, gradient: Callable, grid: torch.Tensor, kinks: Iterable[float] = ()
) -> torch.Tensor:
    """The grid, 0, the kinks given and the jumps and kinks found, each with its neighbours.

    >>> len(special_points(torch.relu, torch.sign, torch.tensor([-1.0, 0.5]).double()))
    5
    """
    low, high = grid[0], grid[-1]
    jumps = find_jumps(value, grid)
    if len(jumps) > len(grid) / 4:  # so many that intervals may hide a second one
        jumps = torch.cat([jumps, find_jumps(value, torch.cat([grid, jumps]).unique())])
    given = torch.tensor([0.0, *kinks], dtype=torch.float64)
    # a kink on a point of the grid lies between two midpoints, and is found there
    midpoints = torch.cat([low[None], (grid[:-1] + grid[1:]) / 2, high[None]])
    kinks = [find_kinks(value, x) for x in (grid, midpoints)]
    special = torch.cat([given, jumps, find_jumps(gradient, grid), *kinks])
    tiny = 1e-15 * (high - low)  # around 0 the float neighbours are absurdly close
    special = special.masked_fill(special.abs() <= tiny, 0)
    below, above = (
        torch.where(special == 0, side * tiny, special.nextafter(special + side))
        for side in (-1, 1)
    )
    x = torch.cat([grid.masked_fill(grid.abs() <= tiny, 0), below, special, above])
    return x[(x >= low) & (x <= high)].unique()


def find_jumps(value: Callable, x: torch.Tensor) -> torch.Tensor:
    """Both sides of the largest jump of `value` in each interval between two x.

    >>> find_jumps(torch.ceil, torch.tensor([0.5, 1.5]).double())
    tensor([1.0000, 1.0000], dtype=torch.float64)
    """
    y = value(x)
    left, right, change = x[:-1], x[1:], y.diff().abs()
    rounding, keep_above = noise(y), SMOOTH_SHARE
    for _ in range(13):  # 16 to the power 13 is 2 to the power 52: down to neighbouring floats
        few = len(left) < 64  # then finer cuts cost no more, and get there sooner
        parts = torch.linspace(0, 1, (CUTS**2 if few else CUTS) + 1, dtype=torch.float64)
        cuts = torch.lerp(left[:, None], right[:, None], parts)
        cuts[:, -1] = right  # lerp may stop one float short of it
        y = value(cuts.flatten()).view_as(cuts)
        ends = y.isfinite().diff()  # a pole, or the end of where the function is defined
        changes = y.diff().abs().nan_to_num(0, posinf=0).masked_fill(ends, torch.inf)
        biggest, where = changes.max(dim=1)
        keep = biggest > change.nan_to_num(0, posinf=0) * keep_above + rounding
        where = where[keep, None]
        left, right = cuts[keep].gather(1, where)[:, 0], cuts[keep].gather(1, where + 1)[:, 0]
        change, keep_above = biggest[keep], 0.45  # a tie may split a jump into two halves
        if (left.nextafter(right) == right).all():  # also if none is left
            break
    return torch.cat([left, right])


def find_kinks(value: Callable, x: torch.Tensor) -> torch.Tensor:
    """Where the slope of `value` jumps between two x: their tangents meet on the curve.

    >>> find_kinks(lambda x: (x - 0.5).abs(), torch.tensor([-1.0, 0.7, 1.0]).double())
    tensor([0.5000], dtype=torch.float64)
    """
    y, size = value(x), x[-1] - x[0]
    left, right = one_sided_slopes(value, x, size)
    width, slope, next_slope = x.diff(), right[:-1], left[1:]
    bend = next_slope - slope
    kink = x[:-1] + (y.diff() - next_slope * width) / -bend
    # a kink is no rounding of a straight line, and lies between the two points
    found = (
        (bend.abs() > 1e-6 * (slope.abs() + next_slope.abs())) & (kink > x[:-1]) & (kink < x[1:])
    )
    kink = kink.where(found, x[:-1])
    gap = value(kink) - (y[:-1] + slope * (kink - x[:-1]))
    # a smooth curve leaves the corner of its tangents by 1/8 of this
    found &= gap.abs() < 1e-3 * (bend * width).abs()
    return torch.round(kink[found], decimals=9 - math.floor(math.log10(size)))


def noise(values: torch.Tensor) -> float:
    """The size of change that rounding alone can make.

    >>> noise(torch.tensor([0.0, 0.5, 1.0]).double()) < 1e-8
    True
    """
    finite = values[values.isfinite()].sort().values
    if not len(finite):
        return 0.0
    low, middle, high = (finite[len(finite) * k // 10].item() for k in (1, 5, 9))
    return 1e-9 * (high - low) + 1e-12 * abs(middle)
