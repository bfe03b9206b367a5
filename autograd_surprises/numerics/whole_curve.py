"""A whole curve: value, gradient and slopes evenly, and at and beside each jump and kink."""

import math
from collections.abc import Callable, Iterable

import torch

from autograd_surprises.numerics.differences import slope_search
from autograd_surprises.numerics.kinks import TINY, jump_search, kink_search
from autograd_surprises.numerics.searches import run, together


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
    return run(_curve_search(grid, [0.0, *kinks]), function)


def _curve_search(grid, given):
    low, high = grid[0].item(), grid[-1].item()
    width = high - low
    x = _with_special(grid, given, low, high)
    found, (kinks, measured) = yield from together(
        _all_jumps(grid), _slopes_and_kinks(x, grid, width)
    )
    found = torch.cat([*found, kinks]).tolist()
    if found:
        known, x = x, _with_special(grid, given + found, low, high)
        if len(x) > len(known):
            measured = yield from slope_search(x, width, rows=2)
    (y, grad), left, right = measured
    return x, y, grad, left, right


def _slopes_and_kinks(x, grid, width):
    # a kink on a point of the grid lies between two midpoints, and is found there
    midpoints = torch.cat([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    points, n = torch.cat([x, midpoints]), len(x)
    (y, grad), left, right = yield from slope_search(points, width, rows=2, along=n)
    between = torch.cat([torch.searchsorted(x, grid), torch.arange(n, len(points))])
    kinks = yield from kink_search(*(part[between] for part in (points, y, left, right)), width)
    return kinks, ((y[:n], grad[:n]), left[:n], right[:n])


def _all_jumps(grid):
    jumps, bends = yield from jump_search(grid, rows=2)
    if len(jumps) > len(grid) / 4:  # so many that intervals may hide a second one
        (more,) = yield from jump_search(torch.cat([grid, jumps]).unique())
        jumps = torch.cat([jumps, more])
    return jumps, bends


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
