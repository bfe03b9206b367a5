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
from helpers.curves.axes import limits_with_margin, usual_range
from helpers.curves.marks import FrameMarks
from helpers.curves.numbers import fn_name
from helpers.explore.drawings.drawing import arguments_of
from lessons.derivatives import derivatives
from lessons.drawings.panel import PanelDrawing

TITLES = "value", "slope", "curvature"


class CurvatureDrawing(PanelDrawing):
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
        self._axes = value_ax, *_ = self.panels(8, 3.4, *TITLES)
        colours = VALUE_COLOUR, GRADIENT_COLOUR, CURVATURE_COLOUR
        each = list(zip(self._axes, colours, TITLES, strict=True))
        for ax in self._axes:
            ax.set(xlabel="x", xlim=x)
            ax.axhline(0, color=SLOPE_COLOUR, lw=0.8)
        self._curves = [self.line(ax, colour, lw=2, gid=title) for ax, colour, title in each]
        self._tangent = self.line(value_ax, GRADIENT_COLOUR, ls="--", lw=1.6)
        self._parabola = self.line(value_ax, CURVATURE_COLOUR, ls=":", lw=2.4)
        self._places = [
            self.add(ax.axvline(at, color=colour, lw=0.8, ls=":")) for ax, colour, _ in each
        ]
        self._dots = [self.line(ax, colour, "o", ms=9) for ax, colour, _ in each]
        self._vertex = self.line(value_ax, CURVATURE_COLOUR, "D", ms=9)
        self._marks = [FrameMarks(ax, colour) for ax, colour, _ in each]
        self.moving += [artist for marks in self._marks for artist in marks.artists]
        self.legend(
            {
                "same slope": self._tangent,
                "same slope and curvature": self._parabola,
                "at - slope / curvature": self._vertex,
            }
        )

    def show(self, **values):
        params = {name: value for name, value in values.items() if name != "at"}
        at = torch.tensor(self.with_defaults(values)["at"], dtype=torch.float64)
        everywhere, here = (
            derivatives(lambda x: self.fn(x, **params), points) for points in (self._x, at)
        )
        value, slope, curvature = here
        finite = [numbers[numbers.isfinite()] for numbers in everywhere]
        ranges = zip(TITLES, map(usual_range, finite), strict=True)
        self.ranges = {title: range_ for title, range_ in ranges if range_}
        for curve, marks, numbers in zip(self._curves, self._marks, everywhere, strict=True):
            curve.set_data(self._x.numpy(), numbers.numpy())
            marks.show(self._x, numbers)
        for dot, line, number in zip(self._dots, self._places, here, strict=True):
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

    def fit(self, ranges):
        for ax, title in zip(self._axes, TITLES, strict=True):
            ax.set_ylim(limits_with_margin(ranges.get(title)))
