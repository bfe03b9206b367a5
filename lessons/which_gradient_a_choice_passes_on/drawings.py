"""What a choice among four options hands on, and the gradient that its scores get."""

import torch
import torch.nn.functional as F

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, LINE_GREY
from helpers.functions import argmax_ste
from lessons.drawings.panel import HATCHED, PanelDrawing, set_each

SCORES, WORTH = (0.2, 1.5, -0.4, 1.0), (3.0, 5.0, 4.0, 2.0)
# The weights of the options, from their scores and a sharpness.
CHOICES = {
    "argmax": lambda scores, sharpness: F.one_hot(scores.argmax(-1), len(scores)).float(),
    "rounding": lambda scores, sharpness: (sharpness * scores).sigmoid().round(),
    "softmax": lambda scores, sharpness: (sharpness * scores).softmax(-1),
    "straight-through": lambda scores, sharpness: argmax_ste(scores, temperature=1 / sharpness),
}
SMALL = 0.1  # from here on, the axis of gradients is logarithmic


class ChoiceDrawing(PanelDrawing):
    """On the left the weight of each option, on the right the gradient with respect to its score.

    The value is weights @ WORTH.

    >>> ChoiceDrawing().show(choose="argmax")
    'weights 0, 1, 0, 0, value 5: no graph, so no gradient'
    """

    name = "A choice among four options"

    def __init__(self):
        titles = "weight of each option", "gradient with respect to its score"
        weights, gradients = self.panels(8, 3.4, *titles, grid="x", sharey=True)
        options = range(len(WORTH))
        weights.set_yticks(options, [f"{k}: worth {worth:g}" for k, worth in enumerate(WORTH)])
        self._weights = self.bars(weights, options, flat=True, **HATCHED)
        self._gradients = self.bars(gradients, options, flat=True, fc=GRADIENT_COLOUR, lw=0)
        weights.set(xlim=(0, 1.25), ylim=(3.6, -0.9), navigate=False)
        gradients.set_xscale("symlog", linthresh=SMALL)
        gradients.set(xlim=(-20, 20), navigate=False)
        gradients.set_xticks([-10, -1, 0, 1, 10], ["-10", "-1", "0", "1", "10"])
        gradients.minorticks_off()
        gradients.axvline(0, ymax=0.84, color=LINE_GREY, lw=1)
        self._says = self.words(gradients, 0.5, 0.92, transform=gradients.transAxes)

    def show(self, choose="argmax", score_0=SCORES[0], sharpness=1):
        weights, value, gradient = _measured(choose, score_0, sharpness)
        says = _says(gradient)
        self._says.set_text(says)
        set_each(self._weights, width=weights.tolist())
        shown = torch.zeros(len(WORTH)) if gradient is None else gradient
        set_each(self._gradients, width=shown.tolist())
        texts = [", ".join(short_number(each, 2) for each in some) for some in (weights, shown)]
        start = f"weights {texts[0]}, value {short_number(value, 3)}"
        if gradient is None:
            return f"{start}: no graph, so no gradient"
        return f"{start}; gradient {texts[1]}: {says}"


def _measured(choose, score_0, sharpness):
    """The weights of the options, the value, and the gradient of the scores, or None."""
    scores = torch.tensor([score_0, *SCORES[1:]], requires_grad=True)
    weights = CHOICES[choose](scores, sharpness)
    value = weights @ torch.tensor(WORTH)
    gradient = torch.autograd.grad(value, scores)[0] if value.requires_grad else None
    return weights.detach(), value.detach(), gradient


def _says(gradient):
    if gradient is None:
        return "no graph: nothing arrives"
    largest = gradient.abs().max()
    if largest == 0:
        return "a graph, but it is flat: all are 0"
    return "nearly flat: it has all but chosen" if largest < SMALL else "worth decides the sign"
