"""The gradient of a weighted sum of two outputs, over a plane of inputs."""

from collections.abc import Callable

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from helpers.curves.axes import draw_handle, limits_around_zero
from lessons.derivatives import vector_jacobian_product
from lessons.drawings.panel import PanelDrawing

REACH = 3.0  # of x1 and x2, to both sides of 0


class FieldDrawing(PanelDrawing):
    """On the left v as an arrow, on the right what backward(v) puts into x.grad at many points.

    The tip of v can be dragged. fn maps x of shape (..., 2) to y of shape (..., 2). Along a solid
    line y1 is constant, along a dashed line y2; a star marks where y1 is smallest, a cross where y2
    is. The arrows are -x.grad, the way down; all that are longer than 1 are drawn equally long.

    >>> two = FieldDrawing(lambda x: torch.stack([x[..., 0], x[..., 1]], -1))
    >>> two.show(v1=1.0, v2=-2.0)
    'at x = [0, 0], x.grad = [1, -2]'
    """

    name = "How v changes x.grad"
    handles = ({"axes": 0, "names": ["v1", "v2"]},)

    def __init__(self, fn: Callable):
        self.fn = fn
        line = torch.linspace(-REACH, REACH, 61)
        y = fn(torch.cartesian_prod(line, line)).detach()
        if y.shape != (61 * 61, 2) or y.isnan().all(0).any():
            raise ValueError(
                "fn needs to turn x of shape (..., 2) into y of shape (..., 2), but turned "
                f"{(61 * 61, 2)} into {tuple(y.shape)}, or y is NaN everywhere"
            )
        coarse = torch.linspace(-REACH, REACH, 13)[1:-1]
        self._points = torch.cartesian_prod(coarse, coarse)
        titles = "v: the weights", "-x.grad, the way down"
        weights, plane = self.panels(8, 4, *titles, grid=("both", ""), width_ratios=[1, 1.35])
        weights.set(xlabel="v1, weight of y1", ylabel="v2, weight of y2", aspect=1)
        plane.set(xlabel="x1", ylabel="x2", aspect=1)
        looks = ((VALUE_COLOUR, "solid", "*"), (SLOPE_COLOUR, "dashed", "P"))
        for k, (colour, style, mark) in enumerate(looks):
            look = {"colors": colour, "linestyles": style, "linewidths": 0.9}
            plane.contour(line, line, y[:, k].reshape(61, 61).T.numpy(), 6, **look)
            plane.plot([], [], color=colour, ls=style, lw=0.9, label=f"equal y{k + 1}")
            defined = torch.where(y[:, k].isnan(), torch.inf, y[:, k])
            lowest = torch.cartesian_prod(line, line)[defined.argmin()].tolist()
            plane.plot(*lowest, mark, color=colour, mec="white", ms=15, label=f"lowest y{k + 1}")
        flat, units = torch.zeros(len(self._points)).numpy(), {"angles": "xy", "scale_units": "xy"}
        look = {"color": GRADIENT_COLOUR, "width": 0.006, "zorder": 3, "label": "-x.grad", **units}
        scale = 1.6 / (coarse[1] - coarse[0]).item()
        self._arrows = self.add(
            plane.quiver(*self._points.T.numpy(), flat, flat, scale=scale, **look)
        )
        weights.axhline(0, color=SLOPE_COLOUR, lw=1)
        weights.axvline(0, color=SLOPE_COLOUR, lw=1)
        self._v = self.add(
            weights.quiver(0, 0, 1, 0, color=SLOPE_COLOUR, scale=1, width=0.02, **units)
        )
        self._tip, self._weights_ax = self.add(draw_handle(weights)), weights
        self.figure.legend_below(columns=5)

    def show(self, v1=1.0, v2=0.0):
        v = torch.tensor([v1, v2], dtype=torch.float32)
        self.ranges = {"v": (min(v1, v2), max(v1, v2))}
        grad = vector_jacobian_product(self.fn, self._points, v.expand_as(self._points))
        long = grad.norm(dim=1, keepdim=True).clamp(min=1.0)  # or long arrows would hide the others
        self._arrows.set_UVC(*(-grad / long).T.numpy())
        self._v.set_UVC(*v.numpy())
        self._tip.set_data([v1], [v2])
        here = vector_jacobian_product(self.fn, torch.zeros(2), v)
        return f"at x = [0, 0], x.grad = [{short_number(here[0])}, {short_number(here[1])}]"

    def fit(self, ranges):
        limits = limits_around_zero(ranges["v"])
        self._weights_ax.set(xlim=limits, ylim=limits)
