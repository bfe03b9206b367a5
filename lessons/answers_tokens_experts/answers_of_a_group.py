"""How hard each token of a group of answers is pushed, by what the loss is divided by."""

import math

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import LINE_GREY
from helpers.curves.marks import ON_WHITE
from lessons.drawings.panel import FILLED, HATCHED, PanelDrawing

LENGTHS = (6, 12, 8)  # tokens of the first three answers
LONGEST = 24  # tokens of any answer; the constant divides by it
REACH = 0.042  # of the vertical axis
# What the objective of one token is multiplied by, given the lengths of all answers.
TOKEN_SHARES = {
    "each answer": lambda lengths: 1 / (len(lengths) * lengths),
    "all tokens": lambda lengths: (1 / lengths.sum()).expand(len(lengths)),
    "a constant": lambda lengths: torch.full_like(lengths, 1 / (len(lengths) * LONGEST)),
}


class GroupDrawing(PanelDrawing):
    """Each answer is a bar: as wide as it has tokens, as high as the factor of each ∇log p.

    Its area is the push on the whole answer. The first `right` answers have the reward 1, the
    others 0; an advantage is the reward minus the mean of the group.

    >>> GroupDrawing().show(right=4)
    'factors 0, 0, 0, 0; the loss at ratio 1 is 0: no gradient'
    """

    name = "A group of four answers"

    def __init__(self):
        (ax,) = self.panels(8, 3.4, "", grid="y")
        most = sum(LENGTHS) + LONGEST + 6
        ax.axhline(0, color=LINE_GREY, lw=1)
        self._up, self._down = (self.bars(ax, range(4), **look) for look in (HATCHED, FILLED))
        self._numbers = [self.words(ax, 0, 0, **ON_WHITE) for _ in range(4)]
        self._says = self.words(ax, most / 2, 0.88 * REACH, **ON_WHITE)
        ax.set(xlim=(-2, most), ylim=(-REACH, REACH), xticks=[], navigate=False)
        ax.set(xlabel="tokens of the four answers", ylabel="factor of a token")
        self.legend({"made likelier": self._up[0], "made less likely": self._down[0]})

    def show(self, right=2, last=24, divide_by="each answer"):
        lengths = torch.tensor([*LENGTHS, last], dtype=torch.float64)
        rewards = (torch.arange(4) < right).double()
        factors = (rewards - rewards.mean()) * TOKEN_SHARES[divide_by](lengths)
        loss = -(factors * lengths).sum().item()
        left = 0.0
        for k, (factor, length) in enumerate(zip(factors.tolist(), lengths.tolist(), strict=True)):
            for bar, is_shown in ((self._up[k], factor > 0), (self._down[k], factor < 0)):
                bar.set_bounds(left, 0, length, factor if is_shown else math.nan)
            self._numbers[k].set_text(f"{factor:.4f}" if factor else "0")
            above = 0.0032 if factor >= 0 else -0.0032
            self._numbers[k].set_position((left + length / 2, factor + above))
            left += length + 1.5
        loss = 0.0 if abs(loss) < 1e-9 else loss
        said = f"the loss at ratio 1 is {short_number(loss, 3)}"
        if not factors.any():
            said += ": no gradient"
        self._says.set_text(said)
        texts = ", ".join(f"{each:.4f}" if each else "0" for each in factors.tolist())
        return f"factors {texts}; {said}"
