"""Which points of an operation are measured: wherever something may happen, and a few others."""

from collections.abc import Callable, Iterable

import torch

from autograd_surprises.atlas.point import STANDARD, Point
from autograd_surprises.atlas.probe import Probe, close
from autograd_surprises.numerics import find_jumps, find_kinks

GRID = torch.arange(-640, 641, dtype=torch.float64) / 80  # exact, which linspace is not
ASIDE = 1 / 173  # a kink is found between two numbers, so these should not be on kinks
STAIRS = 5  # of the jumps of a staircase, those with the shortest names; and of its kinks


def points_to_measure(
    value: Callable, gradient: Callable, grid: torch.Tensor = GRID, kinks: Iterable[str] = ()
) -> list[Point]:
    """The points at which an operation is measured, in their order; NaN is last.

    `grid` holds the numbers between which to look for kinks and jumps; `kinks` are known ones.

    >>> points = points_to_measure(torch.relu, torch.sign)
    >>> [point for point in points if "0" in point and "." not in point]
    ['-1000', '-100', '<0', '-0', '0', '>0', '100', '1000']
    """
    aside = grid[:-1] + ASIDE
    jumps = find_jumps(value, grid)
    bends = torch.cat([find_kinks(value, aside), find_jumps(gradient, grid)])
    middles = {"0", *kinks, *_names(jumps), *_names(bends)}
    if len(grid) < len(GRID):  # it ends where the operation begins to refuse numbers
        middles |= {*_names(grid[[0, -1]])}
    around = [Point(side + middle) for middle in middles for side in ("<", "", ">")]
    return sorted({*STANDARD, *around}, key=lambda point: point.order)


def _names(numbers):
    """A name for each, from the side of a jump that is easier to write; the shortest first."""
    names = []
    for x in sorted(numbers.unique().tolist(), key=lambda x: (abs(x), x)):
        name = f"{round(x, 9):.10g}" if abs(x - round(x, 9)) < 1e-14 else repr(x)
        name = "0" if abs(x) < 1e-12 else name
        if not any(abs(x - float(other)) < 1e-9 for other in names):
            names.append(name)
    return sorted(names, key=_length)[:STAIRS]


def _length(name):
    return min(len(name.lstrip("-")), 9), abs(float(name))


def without_idle(probes: dict[Point, Probe]) -> dict[Point, Probe]:
    """Without the points where nothing changes: an inflection looks like a kink from afar.

    >>> smooth = Probe(value=0, gradient=1, left=1, right=1, below=0, above=0)
    >>> list(without_idle({Point(name): smooth for name in ("<3", "3", ">3", "0")}))
    ['0']
    """
    return {p: each for p, each in probes.items() if p.middle in STANDARD or _matters(p, probes)}


def _matters(point, probes):
    """Does the number differ from its neighbours, or jump?"""
    probe = probes[point.middle]
    sides = [probes[side + point.middle] for side in "<>"]
    idle = all(s.kind == probe.kind and close(s.gradient, probe.gradient) for s in sides)
    return probe.jumps or not idle
