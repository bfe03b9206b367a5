"""What DistributedDataParallel leaves of the gradients of two processes with unequal shares."""

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import SLOPE_COLOUR
from helpers.curves.axes import DASHED
from lessons.drawings.panel import FILLED, HATCHED, PanelDrawing, set_each

# What process r divides its sum of losses by, given the numbers of samples of both.
SHARE_DIVISORS = {
    "its own samples": lambda counts, r: counts[r],
    "samples everywhere / processes": lambda counts, r: sum(counts) / len(counts),
}


class SharesDrawing(PanelDrawing):
    """The gradients of two processes, their mean, and the gradient of all samples at once.

    The model is `weight * x`, its weight 0 and its target 3. The samples of process 0 have x = 1,
    those of process 1 x = 2.

    >>> SharesDrawing().show(process_0=1, process_1=3).partition(": ")[2]
    'a sample of process 0 counts as much as 3 of process 1'
    """

    name = "Two processes, one gradient"

    def __init__(self):
        (ax,) = self.panels(8, 3, "", grid="x")
        self._bars = self.bars(ax, [0, 1], flat=True, **HATCHED)
        self._bars += self.bars(ax, [2], flat=True, **FILLED)
        self._true = self.line(ax, SLOPE_COLOUR, ls=DASHED, lw=2)
        self._numbers = [self.words(ax, 0, k, ha="right") for k in (0, 1, 2, 2.65)]
        self._says = self.words(ax, 0, 3.02, ha="right")
        ax.set(xlim=(-24, 1), ylim=(3.3, -0.6), xlabel="gradient with respect to the weight")
        ax.set_yticks(range(3), ["process 0", "process 1", "DDP: their mean"])
        self.legend({"all samples at once": self._true})

    def show(self, process_0=1, process_1=3, divide_by="its own samples"):
        counts = process_0, process_1
        divisors = [SHARE_DIVISORS[divide_by](counts, r) for r in (0, 1)]
        shares = [torch.full((count,), x) for count, x in zip(counts, (1.0, 2.0), strict=True)]
        gradients = [_gradient(x, divisor) for x, divisor in zip(shares, divisors, strict=True)]
        gradients.append(sum(gradients) / len(gradients))
        true = _gradient(torch.cat(shares), sum(counts))
        set_each(self._bars, width=gradients)
        texts = [short_number(each, 3) for each in (*gradients, true)]
        set_each(self._numbers, text=texts, x=[each - 0.3 for each in (*gradients, true)])
        self._true.set_data([true, true], [1.55, 2.45])
        agree = abs(true - gradients[-1]) < 1e-4
        weight = short_number(divisors[1] / divisors[0], 2)
        counting = f"a sample of process 0 counts as much as {weight} of process 1"
        self._says.set_text("the gradient of all samples" if agree else counting)
        first, second, mean, whole = texts
        end = "the same" if agree else counting
        return f"{first} and {second}, their mean {mean}; all samples at once {whole}: {end}"


def _gradient(x, divisor):
    weight = torch.zeros(1, requires_grad=True)
    loss = (weight * x - 3.0).square().sum() / divisor
    (gradient,) = torch.autograd.grad(loss, weight)
    return gradient.item()
