"""Value, slope and curvature of a function, and the parabola that fits it best at one point."""

from collections.abc import Callable

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import (
    CURVATURE_COLOUR,
    GRADIENT_COLOUR,
    SLOPE_COLOUR,
    VALUE_COLOUR,
)
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import draw_light_grid, limits_with_margin, usual_range
from helpers.curves.marks import FrameMarks
from helpers.curves.numbers import fn_name
from helpers.explore.drawings.drawing import Drawing, arguments_of
from lessons.derivatives import derivatives

TITLES = "value", "slope", "curvature"


class CurvatureDrawing(Drawing):
    """fn(x), fn'(x) and fn''(x) side by side; at the point `at`, the tangent and the parabola.

    Slope and curvature come from autograd. The parabola has the value y, the slope and the
    curvature of fn at this point: y + slope · d + curvature / 2 · d², where d is the distance
    from `at`. The diamond is its lowest or highest point, at - slope / curvature.

    >>> CurvatureDrawing(torch.sin).show(at=0.0)
    'value 0, slope 1, curvature 0'
    """

    def __init__(self, fn: Callable, x: tuple[float, float] = (-3.0, 3.0), at: float = 0.0):
        if not x[0] <= at <= x[1] or x[0] == x[1]:
            raise ValueError(f"needs an interval x = (low, high) with at in it, got x={x}, at={at}")
        self.fn, self.name = fn, fn_name(fn)
        self.parameters, self.takes_any = arguments_of(fn)
        if "at" in self.parameters:
            raise ValueError("at is the point on the curve: give fn's parameter another name")
        self.parameters["at"] = at
        self._x = torch.linspace(*x, 401, dtype=torch.float64)
        self.figure = Picture(8, 3.4)
        self._axes = self.figure.subplots(1, 3)
        colours = VALUE_COLOUR, GRADIENT_COLOUR, CURVATURE_COLOUR
        self._curves, self._dots = [], []
        for ax, colour, title in zip(self._axes, colours, TITLES, strict=True):
            ax.set(title=title, xlabel="x", xlim=x)
            draw_light_grid(ax)
            ax.axhline(0, color=SLOPE_COLOUR, lw=0.8)
            self._curves += ax.plot([], [], color=colour, lw=2, gid=title)
            self._dots += ax.plot([], [], "o", color=colour, mec="white", ms=9)
            self._dots += [ax.axvline(at, color=colour, lw=0.8, ls=":")]
        (self._tangent,) = self._axes[0].plot([], [], color=GRADIENT_COLOUR, ls="--", lw=1.6)
        (self._parabola,) = self._axes[0].plot([], [], color=CURVATURE_COLOUR, ls=":", lw=2.4)
        (self._vertex,) = self._axes[0].plot([], [], "D", color=CURVATURE_COLOUR, mec="white", ms=9)
        self._marks = [
            FrameMarks(ax, colour) for ax, colour in zip(self._axes, colours, strict=True)
        ]
        marks = [artist for mark in self._marks for artist in mark.artists]
        self.moving = [
            *self._curves, self._tangent, self._parabola, *self._dots, self._vertex, *marks
        ]  # fmt: skip
        self.figure.legend_below(
            [self._tangent, self._parabola, self._vertex],
            ["same slope", "same slope and curvature", "at - slope / curvature"],
            columns=3,
        )

    def show(self, **values):
        at = torch.tensor(self.with_defaults(values)["at"], dtype=torch.float64)
        everywhere = derivatives(self._with(values), self._x)
        self.ranges = _ranges(everywhere)
        for curve, marks, numbers in zip(self._curves, self._marks, everywhere, strict=True):
            curve.set_data(self._x.numpy(), numbers.numpy())
            marks.show(self._x, numbers)
        value, slope, curvature = here = derivatives(self._with(values), at)
        for dot, line, number in zip(self._dots[::2], self._dots[1::2], here, strict=True):
            dot.set_data([at.item()], [number.item()])
            line.set_xdata([at.item()])
        away = self._x - at
        self._tangent.set_data(self._x.numpy(), (value + slope * away).numpy())
        parabola = value + slope * away + curvature / 2 * away**2
        self._parabola.set_data(self._x.numpy(), parabola.numpy())
        vertex = at - slope / curvature
        self._vertex.set_data([vertex.item()], [(value + slope * (vertex - at) / 2).item()])
        value, slope, curvature = map(short_number, here)
        return f"value {value}, slope {slope}, curvature {curvature}"

    def measure(self, **values):
        return _ranges(derivatives(self._with(values), self._x))

    def fit(self, ranges):
        for ax, title in zip(self._axes, TITLES, strict=True):
            ax.set_ylim(limits_with_margin(ranges.get(title)))

    def _with(self, values):
        params = {name: value for name, value in values.items() if name != "at"}
        return lambda x: self.fn(x, **params)


def _ranges(everywhere):
    found = zip(TITLES, everywhere, strict=True)
    ranges = {title: usual_range(numbers[numbers.isfinite()]) for title, numbers in found}
    return {title: range_ for title, range_ in ranges.items() if range_}
