"""What backward(v) does to the rows of a Jacobian."""

from collections.abc import Callable

import torch
from matplotlib.colors import CenteredNorm

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import SHADES, draw_light_grid, limits_around_zero
from helpers.explore.drawings.drawing import Drawing
from lessons.derivatives import vector_jacobian_product


class JacobianDrawing(Drawing):
    """From left to right: v, the Jacobian of fn at x, its rows times v, their sum beside x.grad.

    fn maps a vector x to a vector y. v1, v2, … are the weights of the outputs, by default 1, 0, …
    The sum comes from the Jacobian (torch.func.jacrev), x.grad from fn(x).backward(v).

    >>> J = JacobianDrawing(lambda x: x * torch.stack([x[0], x[1]]), torch.tensor([1.0, 2.0]))
    >>> J.show(v1=1.0, v2=10.0)
    'v @ J = [2, 40], x.grad = [2, 40]'
    """

    name = "v @ J is x.grad"

    def __init__(self, fn: Callable, x: torch.Tensor):
        if not x.is_floating_point():
            raise TypeError(f"x needs to hold real numbers, such as 1.0, got {x.dtype}")
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
        self.figure = Picture(8, 3.4)
        self._draw_frame()

    def _draw_frame(self):
        rows, columns = self.jacobian.shape
        axes = self.figure.subplots(1, 4, width_ratios=[1, 1.2, 1.2, 1.5])
        weights, jacobian, weighted, result = axes
        titles = (
            "v: the weights",
            "J: the derivatives",
            "weighted rows",
            "sum of the rows",
        )
        for ax, title in zip(axes, titles, strict=True):
            ax.set_title(title)
            ax.set_navigate(False)  # x and y are names here, not numbers
        for ax in (weights, jacobian, weighted):
            ax.set(yticks=range(rows), ylim=(rows - 0.5, -0.5))
            ax.set_yticklabels([f"y{i + 1}" for i in range(rows)])
        for ax in (jacobian, weighted, result):
            ax.set(xticks=range(columns), xlim=(-0.5, columns - 0.5))
            ax.set_xticklabels([f"x{i + 1}" for i in range(columns)])
        self._bars = weights.barh(range(rows), [1.0] * rows, 0.6, color=VALUE_COLOUR)
        result_at = torch.arange(columns) - 0.2
        self._sums = result.bar(result_at, [0.0] * columns, 0.38, color=VALUE_COLOUR)
        self._grads = result.bar(
            result_at + 0.4, [0.0] * columns, 0.38, fc="white", ec=GRADIENT_COLOUR, hatch="////"
        )
        for ax, line in ((weights, weights.axvline), (result, result.axhline)):
            line(0, color=SLOPE_COLOUR, lw=1)
            draw_light_grid(ax, along="x" if ax is weights else "y")
        self._weights_ax, self._result_ax = weights, result
        image = {"cmap": SHADES, "aspect": "auto", "interpolation": "none"}
        self._images = [ax.imshow(self.jacobian.numpy(), **image) for ax in (jacobian, weighted)]
        self._numbers = []
        for ax, keep in ((jacobian, False), (weighted, True)):
            for i in range(rows):
                for k in range(columns):
                    number = short_number(self.jacobian[i, k])
                    text = ax.text(k, i, number, ha="center", va="center")
                    self._numbers += [text] if keep else []
        self.moving = [self._images[1], *self._numbers, *self._bars, *self._sums, *self._grads]
        self.figure.legend_below(
            [self._sums, self._grads], ["v @ J", "x.grad"], columns=2, loc="outside lower right"
        )

    def show(self, **values):
        v = self._weights(values)
        self.ranges = self._ranges(v)
        weighted, grad = v[:, None] * self.jacobian, vector_jacobian_product(self.fn, self.x, v)
        self._images[1].set_data(weighted.numpy())
        for text, number in zip(self._numbers, weighted.flatten(), strict=True):
            text.set_text(short_number(number))
        for bar, weight in zip(self._bars, v.tolist(), strict=True):
            bar.set_width(weight)
        for bars, heights in ((self._sums, weighted.sum(0)), (self._grads, grad)):
            for bar, height in zip(bars, heights.tolist(), strict=True):
                bar.set_height(height)
        sums, grads = (", ".join(map(short_number, some)) for some in (weighted.sum(0), grad))
        return f"v @ J = [{sums}], x.grad = [{grads}]"

    def measure(self, **values):
        return self._ranges(self._weights(values))

    def fit(self, ranges):
        self._weights_ax.set_xlim(limits_around_zero(ranges["weight"]))
        self._result_ax.set_ylim(limits_around_zero(ranges["sum"]))
        reach = max(map(abs, ranges["cell"]))
        for image in self._images:  # one scale for both
            image.set_norm(CenteredNorm(halfrange=reach or 1.0))

    def _ranges(self, v):
        cells = torch.cat([self.jacobian, v[:, None] * self.jacobian])
        parts = {"weight": v, "sum": v @ self.jacobian, "cell": cells}
        return {name: (part.min().item(), part.max().item()) for name, part in parts.items()}

    def _weights(self, values):
        return torch.tensor([*self.with_defaults(values).values()], dtype=self.x.dtype)
