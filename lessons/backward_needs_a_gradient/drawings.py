"""What backward(v) does to the rows of a Jacobian, at one input and over a plane of inputs."""

from collections.abc import Callable

import torch
from matplotlib.colors import CenteredNorm

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from helpers.curves.axes import SHADES, draw_handle, limits_around_zero
from lessons.drawings.panel import HATCHED, PanelDrawing, set_each


def vector_jacobian_product(fn: Callable, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """vᵀJ, where J is the Jacobian of fn at x: what fn(x).backward(v) puts into x.grad.

    v has the shape of fn(x), the result that of x.

    >>> vector_jacobian_product(torch.square, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    tensor([ 2., 40.])
    """
    x = x.detach().clone().requires_grad_()
    y = fn(x)
    if not y.requires_grad:
        raise ValueError("the result of fn is not connected to x: something cuts the graph")
    (product,) = torch.autograd.grad(y, x, v, materialize_grads=True)  # which fills no .grad
    return product


class JacobianDrawing(PanelDrawing):
    """From left to right: v, the Jacobian of fn at x, its rows times v, their sum beside x.grad.

    fn maps a vector x to a vector y. v1, v2, … are the weights of the outputs, by default 1, 0, …
    The sum comes from the Jacobian (torch.func.jacrev), x.grad from fn(x).backward(v).

    >>> J = JacobianDrawing(lambda x: x * torch.stack([x[0], x[1]]), torch.tensor([1.0, 2.0]))
    >>> J.show(v1=1.0, v2=10.0)
    'v @ J = [2, 40], x.grad = [2, 40]'
    """

    name = "v @ J is x.grad"

    def __init__(self, fn: Callable, x: torch.Tensor):
        y = fn(x)
        if x.dim() != 1 or y.dim() != 1 or not len(y):
            raise ValueError(
                "fn needs to turn a vector into a vector of one or more, but turned shape "
                f"{tuple(x.shape)} into {tuple(y.shape)}"
            )
        self.fn, self.x, self.jacobian = fn, x.detach(), torch.func.jacrev(fn)(x).detach()
        if not self.jacobian.isfinite().all():
            raise ValueError(f"fn has derivatives at x = {x.tolist()} that are not finite: move x")
        self.parameters = {f"v{i + 1}": float(i == 0) for i in range(len(y))}
        self._draw_frame()

    def _draw_frame(self):
        rows, columns = self.jacobian.shape
        titles = "v: the weights", "J: the derivatives", "weighted rows", "sum of the rows"
        layout = {"grid": ("x", "", "", "y"), "width_ratios": [1, 1.2, 1.2, 1.5]}
        weights, jacobian, weighted, result = axes = self.panels(8, 3.4, *titles, **layout)
        image = {"cmap": SHADES, "aspect": "auto", "interpolation": "none"}
        self._images = [ax.imshow(self.jacobian.numpy(), **image) for ax in (jacobian, weighted)]
        self.add(self._images[1])
        places = [(k, i) for i in range(rows) for k in range(columns)]
        for place, number in zip(places, self.jacobian.flatten(), strict=True):
            jacobian.text(*place, short_number(number), ha="center", va="center")
        self._numbers = [self.words(weighted, *place) for place in places]
        self._bars = self.bars(weights, range(rows), flat=True, color=VALUE_COLOUR)
        at = torch.arange(columns) - 0.2
        self._sums = self.bars(result, at, 0.38, color=VALUE_COLOUR)
        self._grads = self.bars(result, at + 0.4, 0.38, **{**HATCHED, "ec": GRADIENT_COLOUR})
        for line in (weights.axvline, result.axhline):
            line(0, color=SLOPE_COLOUR, lw=1)
        for ax in (weights, jacobian, weighted):
            ax.set(yticks=range(rows), yticklabels=[f"y{i + 1}" for i in range(rows)])
            ax.set_ylim(rows - 0.5, -0.5)
        for ax in (jacobian, weighted, result):
            ax.set(xticks=range(columns), xticklabels=[f"x{i + 1}" for i in range(columns)])
            ax.set_xlim(-0.5, columns - 0.5)
        for ax in axes:
            ax.set_navigate(False)  # x and y are names here, not numbers
        self._weights_ax, self._result_ax = weights, result
        names = {"v @ J": self._sums[0], "x.grad": self._grads[0]}
        self.legend(names, loc="outside lower right")

    def show(self, **values):
        v = torch.tensor([*self.with_defaults(values).values()], dtype=self.x.dtype)
        weighted, grad = v[:, None] * self.jacobian, vector_jacobian_product(self.fn, self.x, v)
        cells = torch.cat([self.jacobian, weighted])
        parts = {"weight": v, "sum": weighted.sum(0), "cell": cells}
        self.ranges = {name: (part.min().item(), part.max().item()) for name, part in parts.items()}
        self._images[1].set_data(weighted.numpy())
        set_each(self._numbers, text=map(short_number, weighted.flatten()))
        set_each(self._bars, width=v.tolist())
        set_each(self._sums, height=weighted.sum(0).tolist())
        set_each(self._grads, height=grad.tolist())
        sums, grads = (", ".join(map(short_number, some)) for some in (weighted.sum(0), grad))
        return f"v @ J = [{sums}], x.grad = [{grads}]"

    def fit(self, ranges):
        self._weights_ax.set_xlim(limits_around_zero(ranges["weight"]))
        self._result_ax.set_ylim(limits_around_zero(ranges["sum"]))
        reach = max(map(abs, ranges["cell"]))
        for image in self._images:  # one scale for both
            image.set_norm(CenteredNorm(halfrange=reach or 1.0))


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
