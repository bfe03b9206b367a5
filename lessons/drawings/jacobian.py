"""What backward(v) does to the rows of a Jacobian."""

from collections.abc import Callable

import torch
from matplotlib.colors import CenteredNorm

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from helpers.curves.axes import SHADES, limits_around_zero
from lessons.derivatives import vector_jacobian_product
from lessons.drawings.panel import HATCHED, PanelDrawing, set_each


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
