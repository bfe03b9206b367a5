"""A point that a reader drags along the curve of a function, with two tangents."""

import math
from collections.abc import Callable

import torch

from autograd_surprises.numerics import one_sided_slopes, same_numbers
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR
from helpers.curves.axes import DASHED, draw_handle
from helpers.curves.numbers import input_name, interval
from helpers.curves.regions import number_word
from helpers.explore.drawings.curve import CurveDrawing

TANGENT = 0.12  # how far a tangent reaches to either side, as a share of the interval


class PointDrawing(CurveDrawing):
    """The picture of CurveDrawing, and a point on the curve with two lines through it.

    The solid line has the slope that autograd returns, the dashed one the true slope. At a jump or
    a kink there is no true slope, and no dashed line. `sliders` describes the sliders of the point
    and of the learning rate.

    >>> PointDrawing(torch.square, (-3.0, 3.0), 1.0).step(point=1.0, lr=0.25)
    {'point': 0.5}
    """

    handles = ({"axes": 0, "names": ["point", None]},)
    light = ("point", "lr")

    def __init__(self, fn: Callable, x: tuple[float, float], point: float):
        super().__init__(fn, x)
        taken = [name for name in self.light if name in self.parameters]
        if taken:
            raise TypeError(f"{taken[0]!r} belongs to the point: give fn's parameter another name")
        low, high = self.x = interval(x)
        if not low <= point <= high:
            raise ValueError(f"point needs to lie in x = ({low:g}, {high:g}), got {point:g}")
        self.parameters |= {"point": float(point), "lr": 0.1}
        self.sliders = {"point": (low, high, _step(high - low)), "lr": (0.05, 1.0, 0.05)}
        value_ax, gradient_ax = self._artists.value_ax, self._artists.gradient_ax
        gradient_ax.axhline(0, color=SLOPE_COLOUR, lw=0.8, zorder=1)  # a step goes down to it
        (self._gradient,) = value_ax.plot([], [], color=GRADIENT_COLOUR, lw=2.5)
        (self._slope,) = value_ax.plot([], [], color=SLOPE_COLOUR, lw=1.5, ls=DASHED)
        (self._below,) = gradient_ax.plot([], [], "o", ms=8, color=SLOPE_COLOUR, mec="white")
        self._dot = draw_handle(value_ax)
        self.moving = [*self.moving, self._gradient, self._slope, self._below, self._dot]
        self._last, self._x = None, input_name(fn)

    def show(self, point=None, lr=0.1, **values):
        point = self._rounded(self.parameters["point"] if point is None else point)
        curve = self._measure(**values)
        value, gradient, slope = self._at(point, **values)
        summary = self._draw(curve)  # nothing has moved if any of these raises
        reach = TANGENT * (self.x[1] - self.x[0])
        for line, steep in ((self._gradient, gradient), (self._slope, slope)):
            ends = [value - reach * steep, value + reach * steep]
            line.set_data([point - reach, point + reach], ends)
        self._dot.set_data([point], [value])
        self._below.set_data([point], [gradient])
        numbers = [f"value {number_word(value)}", f"gradient {number_word(gradient)}"]
        numbers += ["no slope" if math.isnan(slope) else f"slope {number_word(slope)}"]
        here = f"at {self._x} = {number_word(point)}: {', '.join(numbers)}"
        end = number_word(self._end(point, lr, gradient))
        moves = "no step" if math.isnan(gradient) else f"a step ends at {self._x} = {end}"
        return f"{summary}; {here}; {moves}"

    def step(self, point: float, lr: float, **values) -> dict[str, float]:
        """Move the point by -lr · gradient, at most to an end of the interval; not by NaN."""
        point = self._rounded(point)
        _, gradient, _ = self._at(point, **values)
        return {"point": self._end(point, lr, gradient)}

    def _end(self, point, lr, gradient):
        low, high = self.x
        end = point if math.isnan(gradient) else point - lr * gradient
        return self._rounded(min(high, max(low, end)))

    def _rounded(self, x):
        """The number that is meant: a slider may say 0.49999999999999994 for a jump at 0.5."""
        low, high = self.x
        return round(x, 12 - math.floor(math.log10(high - low))) + 0.0

    def _at(self, point, grad_output=1.0, **params):
        """Value, autograd's gradient and the true slope at the point; NaN for no slope."""
        low, high = self.x
        x = torch.tensor([point], dtype=torch.float64)
        y, gradient = self._numbers(x, grad_output, **params)
        # the ends tell how large a slope is usual here
        left, right = one_sided_slopes(
            lambda x: self.fn(x.requires_grad_().clone(), **params).detach(),
            torch.tensor([low, point, high], dtype=torch.float64),
            high - low,
        )
        slope = (left + right)[1] / 2 * grad_output
        alike = (left - right)[1].abs() <= 1e-4 * (1 + left[1].abs())
        return y.item(), gradient.item(), slope.item() if alike else math.nan

    def _numbers(self, x, grad_output=1.0, **params):
        """The values at x, and autograd's gradients."""
        leaf = x.clone().requires_grad_()
        y = self.fn(leaf.clone(), **params)
        (gradient,) = torch.autograd.grad(y, leaf, torch.full_like(y, grad_output))
        return y.detach(), gradient

    def _measure(self, point=None, lr=None, **values):
        if self._last is None or self._last[0] != values or not self._holds(self._last[1], values):
            self._last = values, super()._measure(**values)
        return self._last[1]

    def _holds(self, curve, values):
        """Are the numbers still those of this curve? fn may read what another cell has changed."""
        try:
            numbers = self._numbers(curve.x, **values)
        except Exception:  # measuring raises it in better words
            return False
        return all(map(same_numbers, (curve.y, curve.grad), numbers))


def _step(width):
    """1, 2 or 5 times a power of ten: short to read, and at most 600 steps, fine to walk on."""
    power = 10.0 ** math.floor(math.log10(width / 600))
    return next(k * power for k in (1, 2, 5, 10) if 600 * k * power > width * (1 - 1e-9))
