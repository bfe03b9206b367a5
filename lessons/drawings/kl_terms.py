"""The gradient of a KL penalty, and those of three terms that estimate its value."""

import math

import torch
from torch import Tensor

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, LINE_GREY, SLOPE_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import draw_light_grid
from helpers.explore.drawings.drawing import Drawing
from lessons.drawings.arrow import Arrow

# The term of a drawn option, from r = log p − log q.
KL_TERMS = {
    "k1": lambda r: r,
    "k2": lambda r: r**2 / 2,
    "k3": lambda r: (-r).exp() - 1 + r,
}
REACH = 0.97  # of the arrows
SEEN = 0.005  # a shorter arrow has no direction


class KLTermsDrawing(Drawing):
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
        self.figure = Picture(8, 3.3)
        shares, *gradients = self.figure.subplots(
            1, 2 + len(KL_TERMS), width_ratios=[1.4] + [1] * 4
        )
        options = range(len(policy))
        for ax in (shares, *gradients):
            ax.set(ylim=(len(policy) - 0.4, -1.1), yticks=options)
            draw_light_grid(ax, along="x")
            ax.set_navigate(False)  # y is an option here
        shares.set(title="probability", xlim=(0, 1), xticks=[0, 0.5, 1])
        shares.set_yticklabels([f"option {k}" for k in options])
        look = {"fc": "white", "ec": VALUE_COLOUR, "hatch": "////"}
        self._shares = list(shares.barh([k - 0.2 for k in options], 1, 0.36, **look))
        beside = [k + 0.2 for k in options]
        grey = shares.barh(beside, self._reference.softmax(-1).tolist(), 0.36, fc=LINE_GREY)
        place = {"ha": "center", "va": "center"}
        self._says = []
        self._arrows, self._numbers = [], []
        for ax, name in zip(gradients, ("KL", *KL_TERMS), strict=True):
            ax.set(title=name, xlim=(-REACH, REACH), xlabel="gradient")
            ax.set_xticks([-0.5, 0, 0.5], ["", "0", ""])  # the numbers stand beside the arrows
            ax.tick_params(labelleft=False)
            ax.axvline(0, ymax=0.86, color=LINE_GREY, lw=1)
            self._says.append(ax.text(0, -0.78, "", **place))
            pairs = [(GRADIENT_COLOUR, False), (SLOPE_COLOUR, True)]
            self._arrows.append(
                [[Arrow(ax, colour, dashed=wrong) for colour, wrong in pairs] for _ in options]
            )
            self._numbers.append([ax.text(0, k, "", va="center") for k in options])
        right, wrong = self._arrows[0][0]
        arrows = [arrow for rows in self._arrows for pair in rows for arrow in pair]
        parts = [part for arrow in arrows for part in arrow.artists]
        numbers = [number for row in self._numbers for number in row]
        self.moving = [*self._shares, *parts, *numbers, *self._says]
        self.figure.legend_below(
            [self._shares[0], grey, right.line, wrong.line],
            ["policy", "reference", "gradient with respect to a logit", "of the wrong sign"],
            columns=4,
        )

    def show(self, distance=1.0, logit_0=None):
        first = self._policy[:1] if logit_0 is None else torch.tensor([logit_0]).double()
        policy = torch.cat([first, self._policy[1:]])
        logits = self._reference + distance * (policy - self._reference)
        p, found = _measured(logits, self._reference)
        for bar, share in zip(self._shares, p.tolist(), strict=True):
            bar.set_width(share)
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
