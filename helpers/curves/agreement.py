"""Where several functions of x differ, in value or in gradient."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import torch

from autograd_surprises.numerics import few_digits, noise
from helpers.curves.numbers import GradientCurve, gradient_curve, touching
from helpers.curves.regions import name_places

Places = list[tuple[float, float]]


def measure_together(
    calls: Sequence[tuple[object, Mapping[str, object]]], x: tuple[float, float]
) -> list[GradientCurve]:
    """The curve of each (function, parameters), looked at where any of them jumps or bends.

    >>> smooth, stairs = measure_together([(torch.sin, {}), (torch.round, {})], (-1, 1))
    >>> torch.isin(stairs.x[stairs.special], smooth.x).all()
    tensor(True)
    """
    curves = [gradient_curve(fn, x, **params) for fn, params in calls]
    places = torch.cat([curve.x[curve.special] for curve in curves]).unique()
    return [
        curve
        if torch.isin(places, curve.x).all()
        else gradient_curve(fn, x, kinks=places.tolist(), **params)
        for curve, (fn, params) in zip(curves, calls, strict=True)
    ]


def describe_differences(curves: Sequence[GradientCurve]) -> str:
    """Where these curves differ, in value and in gradient; at a single point with the numbers.

    >>> curves = measure_together([(torch.relu, {}), (torch.abs, {})], (-1, 1))
    >>> describe_differences(curves)
    'values differ from -1 to 0, gradients differ from -1 to 0'
    """
    values, gradients = (_in_words(*part) for part in _at_shared_places(curves))
    if not values and not gradients:
        return "same values and gradients"
    text = f"values differ {values}" if values else "same values"
    return f"{text}, " + (f"gradients differ {gradients}" if gradients else "same gradients")


def places_of_difference(curves: Sequence[GradientCurve]) -> tuple[Places, Places]:
    """The intervals (start, stop) of x on which the values differ, and those for the gradients.

    A single point has start == stop.

    >>> places_of_difference(measure_together([(torch.relu, {}), (torch.abs, {})], (-1, 1)))
    ([(-1.0, 0.0)], [(-1.0, 0.0)])
    """
    values, gradients = (
        # no float neighbour of a jump, no -0.0
        [tuple(round(x[end].item(), 12) + 0.0 for end in run) for run in _runs(x, numbers)]
        for x, numbers in _at_shared_places(curves)
    )
    return values, gradients


def _at_shared_places(curves):
    """(x, a row for each curve) of the values, and of the gradients."""
    x = curves[0].x
    for curve in curves[1:]:
        x = x[torch.isin(x, curve.x)]
    shared = [torch.isin(curve.x, x) for curve in curves]
    return [
        (x, torch.stack([part[here] for part, here in zip(parts, shared, strict=True)]))
        for parts in ([curve.y for curve in curves], [curve.grad for curve in curves])
    ]


def _runs(x, numbers):
    """(first, last) index of each run of x on which the rows of `numbers` are not all the same."""
    first, others = numbers[0], numbers[1:]
    slack = max(map(noise, numbers))
    same = torch.isclose(others, first, rtol=1e-12, atol=slack, equal_nan=True).all(0)
    apart = (~touching(x)).tolist()
    runs = []
    for same_here, run in groupby(range(len(x)), same.tolist().__getitem__):
        if not same_here:
            run = list(run)
            start, stop = run[0], run[-1]
            # not sampled between two points of the grid: it may extend to the next one
            start -= start > 0 and apart[start - 1]
            stop += stop + 1 < len(x) and apart[stop]
            runs.append((start, stop))
    return runs


def _in_words(x, numbers):
    """The places, in words, where the rows of `numbers` are not all the same; "" for nowhere."""
    runs = _runs(x, numbers)
    width = (x[-1] - x[0]).item()
    places = [(x[start].item(), x[stop].item()) for start, stop in runs]
    if len(runs) > 3:
        return name_places(places, width)
    return " and ".join(
        name_places([place], width) + (_beside(numbers[:, start]) if start == stop else "")
        for place, (start, stop) in zip(places, runs, strict=True)
    )


def _beside(numbers):
    return f" ({', '.join(few_digits(number, 3) for number in numbers)})"
