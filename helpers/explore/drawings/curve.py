"""The gradient curve of a function, as an explorer shows it."""

from collections.abc import Callable

from helpers.curves.figures import curve_figure, curve_ranges
from helpers.curves.numbers import fn_name, gradient_curve
from helpers.explore.drawings.drawing import Drawing, arguments_of


class CurveDrawing(Drawing):
    """The value of fn(x) on an interval, and its gradient; `curve` holds the numbers.

    >>> CurveDrawing(torch.clamp, (-2, 2)).show(min=-1, max=1)
    'value -1 to 1, gradient 1 from -1 to 1, 0 outside, slope the same'
    """

    reserved = ("x", "points", "kinks")

    def __init__(self, fn: Callable, x: tuple[float, float]):
        self.fn, self.x, self.name = fn, x, fn_name(fn)
        self.parameters, self.takes_any = arguments_of(fn)
        self.parameters.setdefault("grad_output", 1.0)
        self.figure, self._artists = curve_figure(fn)
        self.moving = self._artists.moving

    def show(self, **values):
        return self._draw(self._measure(**values))

    def fit(self, ranges):
        self._artists.limit(ranges)

    def _measure(self, **values):
        return gradient_curve(self.fn, self.x, **values)

    def _draw(self, curve):
        self.curve, self.ranges = curve, curve_ranges(curve)
        self._artists.show(curve)
        return curve.describe()
