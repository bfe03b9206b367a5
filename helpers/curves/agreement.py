"""Where several functions of x differ, in value or in gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import torch

from autograd_surprises.numerics import few_digits, noise
from helpers.curves.numbers import GradientCurve, gradient_curve, touching
from helpers.curves.regions import name_places


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
    x = curves[0].x
    for curve in curves[1:]:
        x = x[torch.isin(x, curve.x)]
    shared = [torch.isin(curve.x, x) for curve in curves]
    values, gradients = (
        _where_different(
            x, torch.stack([part[here] for part, here in zip(parts, shared, strict=True)])
        )
        for parts in ([curve.y for curve in curves], [curve.grad for curve in curves])
    )
    if not values and not gradients:
        return "same values and gradients"
    said = f"values differ {values}" if values else "same values"
    return f"{said}, " + (f"gradients differ {gradients}" if gradients else "same gradients")


def _where_different(x, numbers):
    """The places, in words, where the rows of `numbers` are not all the same; "" for nowhere."""
    first, others = numbers[0], numbers[1:]
    slack = max(map(noise, numbers))
    same = torch.isclose(others, first, rtol=1e-12, atol=slack, equal_nan=True).all(0)
    width = (x[-1] - x[0]).item()
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
    places = [(x[start].item(), x[stop].item()) for start, stop in runs]
    if len(runs) > 3:
        return name_places(places, width)
    return " and ".join(
        name_places([place], width) + (_beside(numbers[:, start]) if start == stop else "")
        for place, (start, stop) in zip(places, runs, strict=True)
    )


def _beside(numbers):
    return f" ({', '.join(few_digits(number, 3) for number in numbers)})"
