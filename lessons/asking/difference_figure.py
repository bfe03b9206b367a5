"""A curve against the expected one."""

from collections.abc import Callable

import torch
from matplotlib.axes import Axes

from autograd_surprises.numerics import few_digits
from autograd_surprises.show.colours import GRADIENT_COLOUR, INK, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.agreement import (
    Places,
    describe_differences,
    measure_together,
    places_of_difference,
)
from helpers.curves.axes import DASHED, draw_light_grid, limits_with_margin, shading, union
from helpers.curves.figures import curve_ranges, with_gaps
from helpers.curves.numbers import GradientCurve

DRAWN_UPSTREAM = -2.0  # not 1, to show where a backward forgets it
EXPECTED = {"color": INK, "lw": 1.5, "ls": DASHED}


def draw_against(
    expected: Callable[[torch.Tensor], torch.Tensor],
    x: tuple[float, float],
    *,
    of: Callable[[Callable], Callable] = lambda answer: answer,
    name: str = "x",
) -> Callable[[Callable], Picture | None]:
    """A function that draws an answer against `expected`, or returns None where they are the same.

    x     the interval to draw
    of    makes a function of one tensor from the answer
    name  what x is called
    """

    def draw(answer):
        calls = [(fn, {"grad_output": DRAWN_UPSTREAM}) for fn in (of(answer), expected)]
        curves = measure_together(calls, x)
        return plot_difference(*curves, name) if any(places_of_difference(curves)) else None

    return draw


def plot_difference(yours: GradientCurve, expected: GradientCurve, name: str = "x") -> Picture:
    """Draw your curve and the expected one, dashed, in the same axes, and shade where they differ.

    Both are measured with the same upstream gradient, at the same places (`measure_together`).
    The value is on the left, the gradient on the right. `name` is what x is called.

    >>> from helpers.curves.agreement import measure_together
    >>> yours, expected = measure_together([(torch.relu, {}), (torch.abs, {})], (-1, 1))
    >>> plot_difference(yours, expected).summary
    'Yours against the expected one: values differ from -1 to 0, gradients differ from -1 to 0.'
    """
    figure = Picture(8, 3.2)
    value_ax, gradient_ax = figure.subplots(1, 2)
    values, gradients = places_of_difference((yours, expected))
    handles = [
        _draw(value_ax, yours, yours.y, values, color=VALUE_COLOUR, lw=3),
        _draw(gradient_ax, yours, yours.grad, gradients, color=GRADIENT_COLOUR, lw=3),
        _draw(value_ax, expected, expected.y, values, **EXPECTED),
    ]
    _draw(gradient_ax, expected, expected.grad, gradients, **EXPECTED)
    ranges = union(map(curve_ranges, (yours, expected)))
    for ax, kind, colour, places in (
        (value_ax, "value", VALUE_COLOUR, values),
        (gradient_ax, "gradient", GRADIENT_COLOUR, gradients),
    ):
        for place in places:
            ax.axvspan(*place, **shading(colour))
        ax.set(title=f"{kind}: {'not as' if places else 'as'} expected", xlabel=name)
        ax.set(xlim=ranges["x"], ylim=limits_with_margin(ranges.get(kind)))
    gradient_ax.set_ylabel(f"for grad_output = {few_digits(yours.grad_output, 4)}")
    draw_light_grid(value_ax, gradient_ax)
    figure.legend_below(handles, ["your value", "your gradient", "expected"], columns=3)
    differences = describe_differences((yours, expected))
    figure.summary = f"Yours against the expected one: {differences}."
    return figure


def _draw(ax: Axes, curve: GradientCurve, numbers: torch.Tensor, places: Places, **look):
    """The line of a curve, and a dot where it differs at a single point."""
    jumps = curve.jumps(numbers)
    (line,) = ax.plot(with_gaps(curve.x, jumps), with_gaps(numbers, jumps), **look)
    points = [start for start, stop in places if start == stop]
    at = [(curve.x - point).abs().argmin().item() for point in points]
    ax.plot(curve.x[at], numbers[at], "o", color=line.get_color(), ms=7)
    return line
