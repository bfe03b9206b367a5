"""A gradient arrives, but it is probably not the intended one."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from autograd_surprises.doctor.rules.rule import Rule, Rulebook, StepRule
from autograd_surprises.doctor.steps import BackwardStep, kind_of, name_of


class OldGradient(NamedTuple):
    """How many times .grad already held this gradient."""

    times: int


ACCUMULATED = Rule(
    "accumulated",
    ".grad already holds {times} times this gradient, and backward() adds to it: probably "
    "zero_grad() was forgotten",
    "optimizer.zero_grad(), or .grad = None, before each backward()",
    "08_none_zero_nan.ipynb#A-gradient-that-keeps-growing",
)

CHANGED_GRADIENT = StepRule(
    "changed-gradient",
    "its backward changes, in place, the gradient that it receives, so every other user of that "
    "gradient gets wrong numbers",
    "return a new tensor: g * 2, not g.mul_(2)",
    "08_none_zero_nan.ipynb#A-backward-that-writes-into-what-it-was-given",
    on={"": lambda step: step.is_users and step.changed},
)

OWN_FUNCTION = StepRule(
    "own-function",
    "your own backward: explain does not check whether it is the derivative",
    "check it with torch.autograd.gradcheck, in float64",
    "04_override_backward.ipynb#Checking-the-gradient",
    on={"": lambda step: step.is_users},
)


SHAPERS = {"Squeeze", "Unsqueeze", "View", "UnsafeView", "ReshapeAlias", "Expand", "ToCopy",
           "Select", "Slice"}  # fmt: skip


def _made_by(*kinds: str):
    """Is the input the result of one of these, of another shape perhaps?"""

    def fits(step: BackwardStep) -> bool:
        node = step.edges[0][0] if step.own is None and step.edges else None
        while node is not None and kind_of(name_of(node)) in SHAPERS:
            node = node.next_functions[0][0]
        return node is not None and kind_of(name_of(node)) in kinds

    return fits


# What goes into a loss is not what that loss expects.
EXPECTED = Rulebook(StepRule)

EXPECTED.add(
    "double-softmax",
    "a softmax or sigmoid goes into log_softmax, which cross_entropy contains: that flattens "
    "the gradient",
    "pass the raw scores (logits) to cross_entropy",
    on={"LogSoftmax": _made_by("Softmax", "Sigmoid")},
)

EXPECTED.add(
    "double-sigmoid",
    "a sigmoid or softmax goes into binary_cross_entropy_with_logits, which contains a sigmoid: "
    "that flattens the gradient",
    "pass the raw scores (logits), or use binary_cross_entropy",
    on={"BinaryCrossEntropyWithLogits": _made_by("Sigmoid", "Softmax")},
)

EXPECTED.add(
    "no-logarithm",
    "probabilities go into nll_loss, which expects their logarithms",
    "use log_softmax instead of softmax, or pass the raw scores to cross_entropy",
    on={"NllLoss NllLoss2D": _made_by("Softmax")},
)

LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}


class Meeting(NamedTuple):
    """Two tensors of different shapes in one call; does exactly one of them require a gradient?

    is_loss  is it a difference that is squared, or made positive, and averaged at once?

    >>> BROADCAST.fits(Meeting("mse_loss", True, (4, 1), (4,)))
    True
    """

    operation: str
    one_tracked: bool
    first: tuple[int, ...]
    second: tuple[int, ...]
    is_loss: bool = False

    @property
    def result(self) -> tuple[int, ...]:
        return tuple(torch.broadcast_shapes(self.first, self.second))


def _crosses(meeting: Meeting) -> bool:
    """In a loss, (N, 1) and (N,) broadcast to (N, N), and one of the two comes from data.

    Elsewhere that is how all pairs are computed: distances, costs, masks.
    """
    operation, one_tracked, first, second, is_loss = meeting
    sizes = [[n for n in shape if n != 1] for shape in (first, second)]
    if not (one_tracked and (is_loss or operation in LOSSES) and sizes[0] == sizes[1] != []):
        return False
    return math.prod(meeting.result) > math.prod(first)


BROADCAST = Rule(
    "broadcast",
    "probably unwanted: {operation} broadcasts the shapes {first} and {second} to {result}: each "
    "element of one is combined with each of the other",
    "give both the same shape: squeeze(1), or unsqueeze(1) for the other",
    "08_none_zero_nan.ipynb#A-loss-over-too-many-pairs",
    when=_crosses,
)
