"""The gradient that two batches of unequal length add up to, and the gradient of all tokens."""

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR
from lessons.drawings.arrow import angle_between
from lessons.drawings.panel import HATCHED, PanelDrawing, set_each

# How many times the mean loss of batch 1 or 2 is counted, of lengths n1 and n2.
DIVISORS = {
    "nothing": lambda n1, n2: (1, 1),
    "number of batches": lambda n1, n2: (1 / 2, 1 / 2),
    "batches so far": lambda n1, n2: (1, 1 / 2),
    "number of tokens": lambda n1, n2: (n1 / (n1 + n2), n2 / (n1 + n2)),
}


class AccumulationDrawing(PanelDrawing):
    """On the left the accumulated and the true gradient, on the right how much a token counts.

    Each token of batch 1 has the gradient (2, 0), each one of batch 2 (0, 2). The true gradient is
    that of the mean over all tokens. A token of that mean counts once.

    >>> AccumulationDrawing().show(batch_1=1, batch_2=3, divide_by="number of batches")
    '27° off, 0.89 times as long; a token of batch 1 counts 2 times, one of batch 2 0.67 times'
    """

    name = "Two batches, one gradient"

    def __init__(self):
        titles = "gradient of the two weights", "how often a token counts"
        plane, counts = self.panels(8, 3.8, *titles, grid=("both", "y"), width_ratios=[1, 1.1])
        plane.set(xlabel="first weight", ylabel="second weight", aspect=1)
        plane.set(xlim=(-0.15, 2.3), ylim=(-0.15, 2.3))
        counts.set(ylabel="times", yscale="log", xlim=(-0.6, 1.6), ylim=(0.4, 80))
        counts.set(xticks=[0, 1], xticklabels=["in batch 1", "in batch 2"])
        powers = [2.0**k for k in range(-1, 7)]
        counts.set_yticks(powers, [f"{power:g}" for power in powers])
        counts.minorticks_off()
        self._accumulated = self.arrow(plane, GRADIENT_COLOUR)
        self._true = self.arrow(plane, SLOPE_COLOUR, dashed=True)
        self._bars = self.bars(counts, [0, 1], bottom=0.01, **HATCHED)
        self._numbers = [self.words(counts, k, 1, va="bottom") for k in (0, 1)]
        self.add(counts.axhline(1, color=SLOPE_COLOUR, ls="--", lw=1.5))  # above the bars
        self._says = self.words(plane, 1.1, 2.12)
        names = {"accumulated": self._accumulated, "mean over all tokens": self._true}
        self.legend({name: arrow.line for name, arrow in names.items()})

    def show(self, batch_1=1, batch_2=3, divide_by="number of batches"):
        lengths = torch.tensor([float(batch_1), float(batch_2)])
        factors = torch.tensor(DIVISORS[divide_by](batch_1, batch_2), dtype=lengths.dtype)
        true = 2 * lengths / lengths.sum()
        accumulated = 2 * factors  # the gradients of the two means are (2, 0) and (0, 2)
        self._true.point_to(true.tolist())
        self._accumulated.point_to(accumulated.tolist())
        angle = angle_between(accumulated, true)
        ratio = short_number(accumulated.norm() / true.norm(), 2)
        aligned = "the true gradient" if ratio == "1" else f"right direction, {ratio} × as long"
        self._says.set_text(f"{angle:.0f}° off" if angle >= 0.5 else aligned)
        counts = (accumulated / true).tolist()
        set_each(self._bars, height=[count - 0.01 for count in counts])
        heights = [1.1 if 0.6 < count < 1.1 else count for count in counts]  # not across the line
        set_each(self._numbers, text=[short_number(count, 2) for count in counts], y=heights)
        first, second = (f"{short_number(count, 2)} times" for count in counts)
        return (
            f"{angle:.0f}° off, {ratio} times as long; a token of batch "
            f"1 counts {first}, one of batch 2 {second}"
        )
