"""Where to look at an operation: everywhere that something may happen, and at a few plain numbers.

A point has a name: "0", "-0", "inf", "nan", "0.5", and "<0.5" and ">0.5" for the floating-point
numbers next to it. Beside 0 those are the smallest normal ones: smaller ones may be flushed to 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch

from autograd_surprises.numerics import find_jumps, find_kinks

PLAIN = ("-4.3", "-1.7", "-0.3", "0.3", "1.7", "4.3")
FAR = ("-1000", "-100", "100", "1000")  # where exp overflows, in float64 and in float32
ALWAYS = ("-inf", "-0", "0", "inf", "nan", *FAR)
GRID = torch.arange(-640, 641, dtype=torch.float64) / 80  # exact, which linspace is not
ASIDE = 1 / 173  # a kink is found between two numbers, so these should not be on kinks
AT_MOST = 5  # of the jumps of a staircase, those with the shortest names; and of its kinks


def number(point: str, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """The point as a tensor of shape (1,).

    >>> number("<1").item(), number("<1", torch.float32).item()
    (0.9999999999999999, 0.9999999403953552)
    """
    side, middle = point[0], point.lstrip("<>")
    x = torch.tensor([float(middle)], dtype=dtype)
    if side not in "<>":
        return x
    sign = {"<": -1, ">": 1}[side]
    tiny = sign * torch.finfo(dtype).tiny
    return x.new_tensor([tiny]) if x == 0 else x.nextafter(x + sign)


def points(
    value: Callable, gradient: Callable, grid: torch.Tensor = GRID, kinks: Iterable[str] = ()
) -> list[str]:
    """The names of the points of an operation, in their order; NaN is last.

    `grid` holds the numbers between which to look for kinks and jumps; `kinks` are known ones.

    >>> [point for point in points(torch.relu, torch.sign) if "0" in point and "." not in point]
    ['-1000', '-100', '<0', '-0', '0', '>0', '100', '1000']
    """
    aside = grid[:-1] + ASIDE
    jumps = find_jumps(value, grid)
    bends = torch.cat([find_kinks(value, aside), find_jumps(gradient, grid)])
    middles = {"0", *kinks, *_names(jumps), *_names(bends)}
    if len(grid) < len(GRID):  # it ends where the operation begins to refuse numbers
        middles |= {*_names(grid[[0, -1]])}
    around = [side + middle for middle in middles for side in ("<", "", ">")]
    return sorted({*PLAIN, *ALWAYS, *around}, key=_order)


def _names(found):
    """A name for each, from the side of a jump that is easier to write; the shortest first."""
    names = []
    for x in sorted(found.unique().tolist(), key=lambda x: (abs(x), x)):
        name = f"{round(x, 9):.10g}" if abs(x - round(x, 9)) < 1e-14 else repr(x)
        name = "0" if abs(x) < 1e-12 else name
        if not any(abs(x - float(other)) < 1e-9 for other in names):
            names.append(name)
    return sorted(names, key=_simple)[:AT_MOST]


def _simple(name):
    return min(len(name.lstrip("-")), 9), abs(float(name))


def _order(point):
    beside = {"<": -1, "-": -0.5, ">": 1}
    middle = float(point.lstrip("<>"))
    return math.isnan(middle), middle, beside.get(point[0], 0) if point not in PLAIN else 0
