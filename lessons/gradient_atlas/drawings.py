"""One operation of the atlas, close to a point."""

from math import isfinite

import torch

from autograd_surprises.atlas import Measured, Operation, atlas
from autograd_surprises.atlas.description import describe_slopes
from autograd_surprises.atlas.measuring import gradient_function, value_function
from autograd_surprises.atlas.point import Point
from autograd_surprises.numerics import (
    even_grid,
    few_digits,
    measure_curve,
    one_sided_slopes,
    one_thread,
)
from autograd_surprises.show.colours import LINE_GREY
from helpers.curves.figures import curve_figure
from helpers.curves.numbers import GradientCurve
from helpers.explore.drawings.drawing import Drawing

HALF_WIDTHS = [4, 1, 0.1, 0.001]


class CloseUpDrawing(Drawing):
    """Value and gradient of an operation of the atlas, `half_width` to either side of a point.

    `operation` is a line of code, looked up in the atlas of your torch, or the numbers of another
    atlas. `places` are the points that `at` takes: where something happens.

    >>> CloseUpDrawing("torch.relu(x)").show(at="0", half_width=1.0)
    'value 0, gradient 0, slopes 0 and 1: kink'
    """

    def __init__(self, operation: str | Measured):
        self.measured = operation if isinstance(operation, Measured) else atlas().look_up(operation)
        self.name = self.measured.expression
        if self.measured.error:
            raise ValueError(f"{self.name} has no derivative to show: {self.measured.error}")
        self.operation, self.places = Operation(self.name), eventful_numbers(self.measured)
        self.parameters = {"at": self.places[0], "half_width": 1}
        self.figure, self._artists = curve_figure(self.operation)
        axes = self._artists.value_ax, self._artists.gradient_ax
        # so close, labels are long, and the place for them is found once
        self.figure.get_layout_engine().set(w_pad=0.3)
        for ax in axes:
            ax.locator_params(axis="x", nbins=5)
            ax.ticklabel_format(axis="y", scilimits=(-2, 3))
        self._marks = [ax.axvline(color=LINE_GREY, lw=1, ls=":") for ax in axes]
        self.moving = [*self._marks, *self._artists.moving]

    def show(self, at: str | None = None, half_width: float = 1) -> str:
        point = Point(at or self.places[0])
        self.curve = curve_around(self.operation, point.number, half_width)
        self._artists.fit([self.curve])
        self._artists.show(self.curve)
        for mark in self._marks:
            mark.set_xdata([point.number] * 2)
        probe = self.measured.probes[point]
        numbers = f"value {few_digits(probe.value)}, gradient {few_digits(probe.gradient)}"
        slopes = f"{describe_slopes(probe)}: " if probe.slopes else ""
        kind = self.measured.events.get(point, "the gradient is the slope")
        return f"{numbers}, {slopes}{kind}"


def eventful_numbers(measured: Measured) -> list[Point]:
    """The points where something happens, without infinity, NaN and neighbours; or 0.

    >>> eventful_numbers(atlas().look_up("F.hardtanh(x)"))
    ['-1', '1']
    """
    points = [p for p in measured.events if not p.side and p != "-0" and isfinite(p.number)]
    return points or [Point("0")]


def curve_around(operation: Operation, middle: float, half_width: float) -> GradientCurve:
    """Its curve on both sides of a number; NaN where the operation refuses a number.

    >>> curve_around(Operation("torch.log(x)"), 0.0, 1.0).y[0]
    tensor(nan, dtype=torch.float64)
    """
    value, gradient = value_function(operation), gradient_function(operation)

    def numbers(x, rows):
        return [function(x) for function in (value, gradient)[:rows]]

    with one_thread():
        grid = even_grid(middle - half_width, middle + half_width, 401)
        try:
            operation(grid)
            return GradientCurve(*measure_curve(numbers, grid, [middle]), 1.0)
        except (RuntimeError, ValueError):  # looked at number by number, where each search is slow
            x = torch.cat([grid[::4], grid.new_tensor([middle])]).unique()
            slopes = one_sided_slopes(value, x, 2 * half_width)
            return GradientCurve(x, value(x), gradient(x), *slopes, 1.0)
