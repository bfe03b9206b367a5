"""A point that a reader drags along the curve of a function, with two tangents."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from autograd_surprises.numerics import one_sided_slopes, short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR
from helpers.curves.numbers import input_name
from helpers.widgets.drawings.curve import CurveDrawing

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

    def __init__(self, fn: Callable, x: tuple[float, float], point: float):
        super().__init__(fn, x)
        taken = [name for name in ("point", "lr") if name in self.parameters]
        if taken:
            raise TypeError(f"{taken[0]!r} belongs to the point: give fn's parameter another name")
        low, high = x
        if not low <= point <= high:
            raise ValueError(f"point needs to lie in x = ({low:g}, {high:g}), got {point:g}")
        self.parameters |= {"point": float(point), "lr": 0.1}
        # fine enough to walk on, and whole hundredths where the interval allows
        self.sliders = {"point": (low, high, (high - low) / 600), "lr": (0.05, 1.0, 0.05)}
        value_ax, gradient_ax = self._artists.value_ax, self._artists.gradient_ax
        (self._gradient,) = value_ax.plot([], [], color=GRADIENT_COLOUR, lw=2.5)
        (self._slope,) = value_ax.plot([], [], color=SLOPE_COLOUR, lw=1.5, ls=(0, (4, 3)))
        dot = {"ls": "", "marker": "o", "color": SLOPE_COLOUR, "mec": "white"}
        (self._below,) = gradient_ax.plot([], [], ms=8, **dot)
        (self._dot,) = value_ax.plot([], [], ms=12, gid="handle", **dot)
        self.moving = [*self.moving, self._gradient, self._slope, self._below, self._dot]
        self._last, self._x = None, input_name(fn)

    def show(self, point=None, lr=0.1, **values):
        point = self.parameters["point"] if point is None else point
        said = super().show(**values)
        value, gradient, slope = self._at(point, **values)
        reach = TANGENT * (self.x[1] - self.x[0])
        for line, steep in ((self._gradient, gradient), (self._slope, slope)):
            ends = [value - reach * steep, value + reach * steep]
            line.set_data([point - reach, point + reach], ends)
        self._dot.set_data([point], [value])
        self._below.set_data([point], [gradient])
        numbers = [f"value {short_number(value)}", f"gradient {short_number(gradient)}"]
        numbers += [f"slope {short_number(slope)}"] if slope == slope else ["no slope"]
        end = short_number(self.step(point=point, lr=lr, **values)["point"])
        here = f"at {self._x} = {short_number(point)}: {', '.join(numbers)}"
        moves = "no step" if math.isnan(gradient) else f"a step ends at {self._x} = {end}"
        return f"{said}; {here}; {moves}"

    def step(self, point: float, lr: float, **values) -> dict[str, float]:
        """Move the point by -lr · gradient, at most to an end of the interval; not by NaN."""
        _, gradient, _ = self._at(point, **values)
        low, high = self.x
        end = point if math.isnan(gradient) else point - lr * gradient
        return {"point": min(high, max(low, end))}

    def _at(self, point, grad_output=1.0, **params):
        """Value, autograd's gradient and the true slope at the point; NaN for no slope."""
        x = torch.tensor([point], dtype=torch.float64)
        leaf = x.clone().requires_grad_()
        y = self.fn(leaf.clone(), **params)
        (gradient,) = torch.autograd.grad(y, leaf, torch.full_like(y, grad_output))
        left, right = one_sided_slopes(
            lambda x: self.fn(x.requires_grad_().clone(), **params).detach(),
            x,
            self.x[1] - self.x[0],
        )
        alike = (left - right).abs() <= 1e-4 * (1 + left.abs())
        slope = left.where(alike, torch.nan) * grad_output
        return y.item(), gradient.item(), slope.item()

    def _measure(self, point=None, lr=None, **values):
        if self._last is None or self._last[0] != values:  # a moved point changes no curve
            self._last = values, super()._measure(**values)
        return self._last[1]
