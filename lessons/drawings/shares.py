"""What DistributedDataParallel leaves of the gradients of two processes with unequal shares."""

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import DASHED, draw_light_grid
from helpers.explore.drawings.drawing import Drawing

# What process r divides its sum of losses by, given the numbers of samples of both.
SHARE_DIVISORS = {
    "its own samples": lambda counts, r: counts[r],
    "samples everywhere / processes": lambda counts, r: sum(counts) / len(counts),
}


class SharesDrawing(Drawing):
    """The gradients of two processes, their mean, and the gradient of all samples at once.

    The model is `weight * x`, its weight 0 and its target 3. The samples of process 0 have x = 1,
    those of process 1 x = 2.

    >>> SharesDrawing().show(process_0=1, process_1=3).partition(": ")[2]
    'a sample of process 0 counts as much as 3 of process 1'
    """

    name = "Two processes, one gradient"

    def __init__(self):
        self.figure = Picture(8, 3)
        ax = self.figure.subplots()
        ax.set(xlim=(-24, 1), ylim=(3.3, -0.6), xlabel="gradient with respect to the weight")
        ax.set_yticks(range(3), ["process 0", "process 1", "DDP: their mean"])
        draw_light_grid(ax, along="x")
        looks = [{"fc": "white", "ec": VALUE_COLOUR, "hatch": "////"}] * 2
        looks.append({"fc": GRADIENT_COLOUR, "ec": GRADIENT_COLOUR})
        self._bars = [ax.barh(k, -1.0, 0.6, **look)[0] for k, look in enumerate(looks)]
        (self._true,) = ax.plot([], [], color=SLOPE_COLOUR, ls=DASHED, lw=2)
        self._numbers = [ax.text(0, k, "", ha="right", va="center") for k in (0, 1, 2, 2.65)]
        self._says = ax.text(0, 3.02, "", ha="right", va="center")
        self.moving = [*self._bars, self._true, *self._numbers, self._says]
        self.figure.legend_below([self._true], ["all samples at once"], columns=1)

    def show(self, process_0=1, process_1=3, divide_by="its own samples"):
        counts = process_0, process_1
        divisors = [SHARE_DIVISORS[divide_by](counts, r) for r in (0, 1)]
        shares = [torch.full((count,), x) for count, x in zip(counts, (1.0, 2.0), strict=True)]
        gradients = [_gradient(x, divisor) for x, divisor in zip(shares, divisors, strict=True)]
        gradients.append(sum(gradients) / len(gradients))
        true = _gradient(torch.cat(shares), sum(counts))
        for bar, gradient in zip(self._bars, gradients, strict=True):
            bar.set_width(gradient)
        for number, gradient in zip(self._numbers, [*gradients, true], strict=True):
            number.set_text(short_number(gradient, 3))
            number.set_x(gradient - 0.3)
        self._true.set_data([true, true], [1.55, 2.45])
        agree = abs(true - gradients[-1]) < 1e-4
        weight = short_number(divisors[1] / divisors[0], 2)
        counting = f"a sample of process 0 counts as much as {weight} of process 1"
        self._says.set_text("the gradient of all samples" if agree else counting)
        first, second, mean, whole = (short_number(each, 3) for each in (*gradients, true))
        end = "the same" if agree else counting
        return f"{first} and {second}, their mean {mean}; all samples at once {whole}: {end}"


def _gradient(x, divisor):
    weight = torch.zeros(1, requires_grad=True)
    loss = (weight * x - 3.0).square().sum() / divisor
    (gradient,) = torch.autograd.grad(loss, weight)
    return gradient.item()
