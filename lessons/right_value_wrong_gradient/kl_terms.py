"""The gradient of a KL penalty, and those of three terms that estimate its value."""

import math

import torch
from torch import Tensor

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, LINE_GREY, SLOPE_COLOUR
from helpers.curves.marks import ON_WHITE
from lessons.drawings.panel import HATCHED, PanelDrawing, set_each

# The term of a drawn option, from r = log p − log q.
KL_TERMS = {"k1": lambda r: r, "k2": lambda r: r**2 / 2, "k3": lambda r: (-r).exp() - 1 + r}
REACH = 0.97  # of the arrows
SEEN = 0.005  # a shorter arrow has no direction


class KLTermsDrawing(PanelDrawing):
    """On the left the probabilities, then the gradient of KL(policy‖reference), k1, k2 and k3.

    policy, reference  logits of the options

    The terms are averaged over all options with the probability of each, as infinitely many samples
    would be. `distance` leads from the reference, at 0, to the policy, at 1, and beyond; `logit_0`
    replaces the policy's first logit.

    >>> KLTermsDrawing(torch.tensor([1.0, 0.0]), torch.zeros(2)).show(distance=0.0)
    'KL 0 with gradient 0, 0; k1 0, 0; k2 0, 0; k3 0, 0'
    """

    name = "A KL penalty and three of its estimators"

    def __init__(self, policy: Tensor, reference: Tensor):
        self._policy, self._reference = policy.double(), reference.double()
        self.parameters = {"distance": 1.0, "logit_0": policy[0].item()}
        titles = "probability", "KL", *KL_TERMS
        layout = {"sharey": True, "width_ratios": [1.4] + [1] * 4}
        shares, *gradients = self.panels(8, 3.3, *titles, grid="x", **layout)
        options = range(len(policy))
        shares.set_yticks(options, [f"option {k}" for k in options])
        self._shares = self.bars(shares, [k - 0.2 for k in options], 0.36, flat=True, **HATCHED)
        beside = [k + 0.2 for k in options]
        grey = shares.barh(beside, self._reference.softmax(-1).tolist(), 0.36, fc=LINE_GREY)
        shares.set(xlim=(0, 1), ylim=(len(policy) - 0.4, -1.1))
        shares.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        shares.set_navigate(False)  # y is an option here
        self._says, self._arrows, self._numbers = [], [], []
        for ax in gradients:
            ax.set(xlim=(-REACH, REACH), xlabel="gradient", navigate=False)
            ax.set_xticks(
                [-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75], ["", "-0.5", "", "0", "", "0.5", ""]
            )
            ax.axvline(0, ymax=0.86, color=LINE_GREY, lw=1)
            looks = (GRADIENT_COLOUR, False), (SLOPE_COLOUR, True)
            self._arrows.append(
                [[self.arrow(ax, colour, dashed=wrong) for colour, wrong in looks] for _ in options]
            )
            self._numbers.append([self.words(ax, 0, k, **ON_WHITE) for k in options])
            self._says.append(self.words(ax, 0, -0.78, **ON_WHITE))
        right, wrong = self._arrows[0][0]
        bars = {"policy": self._shares[0], "reference": grey}
        arrows = {"gradient with respect to a logit": right, "of the wrong sign": wrong}
        self.legend(bars | {name: arrow.line for name, arrow in arrows.items()})

    def show(self, distance=1.0, logit_0=None):
        first = self._policy[:1] if logit_0 is None else torch.tensor([logit_0]).double()
        policy = torch.cat([first, self._policy[1:]])
        logits = self._reference + distance * (policy - self._reference)
        p, found = _measured(logits, self._reference)
        set_each(self._shares, width=p.tolist())
        true, texts = found[0][1], []
        for k, (value, gradient) in enumerate(found):
            self._says[k].set_text(f"value {short_number(value, 3)}")
            self._point(k, gradient, true)
            texts.append(", ".join(short_number(each, 2) for each in gradient.tolist()))
        others = "; ".join(f"{name} {text}" for name, text in zip(KL_TERMS, texts[1:], strict=True))
        return f"KL {short_number(found[0][0], 3)} with gradient {texts[0]}; {others}"

    def _point(self, column, gradient, true):
        rows = zip(self._arrows[column], self._numbers[column], strict=True)
        for k, ((right, wrong), number) in enumerate(rows):
            tip = gradient[k].item()
            turned = tip * true[k] < 0 and abs(tip) > SEEN
            nowhere = math.nan, math.nan
            right.point_to(nowhere if turned else (tip, k), (0, k))
            wrong.point_to((tip, k) if turned else nowhere, (0, k))
            number.set_text(f"{short_number(tip, 2)}{' ✗' * turned}")
            number.set_position((-0.07 if tip >= 0 else 0.07, k))
            number.set_ha("right" if tip >= 0 else "left")


def _measured(logits, reference):
    """The probabilities, and value and gradient of the KL and of the mean of each term."""
    logits = logits.clone().requires_grad_()
    log_p = logits.log_softmax(-1)
    r, p = log_p - reference.log_softmax(-1), log_p.exp()
    values = [(p * r).sum(), *((p.detach() * term(r)).sum() for term in KL_TERMS.values())]
    found = [
        (value.item() + 0.0, torch.autograd.grad(value, logits, retain_graph=True)[0])
        for value in values
    ]
    return p.detach(), [(v, g.where(g.abs() > 1e-12, 0.0)) for v, g in found]
