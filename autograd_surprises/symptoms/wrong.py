"""A gradient arrives, but it is probably not the intended one."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.graph import Node, kind_of, name_of, only_way
from autograd_surprises.symptoms.rule import Rule, Rulebook, StepRule


class OldGradient(NamedTuple):
    """How many times .grad already held this gradient."""

    times: int


ACCUMULATED = Rule(
    "accumulated/held",
    ".grad already holds {times} times this gradient, and backward() adds to it: probably "
    "zero_grad() was forgotten",
    "optimizer.zero_grad(), or .grad = None, before each backward()",
    "wrong.accumulated",
)

USED_TWICE = Rule(
    "accumulated/used-twice",
    "backward() added to a gradient that the optimizer had used already, and the optimizer used "
    "the sum: probably zero_grad() was forgotten",
    "optimizer.zero_grad(), or .grad = None, before each backward()",
    "wrong.accumulated",
)

CHANGED_GRADIENT = StepRule(
    "changed-gradient",
    "its backward changes, in place, the gradient that it receives, so every other user of that "
    "gradient gets wrong numbers",
    "return a new tensor: g * 2, not g.mul_(2)",
    "wrong.changed",
    on={"": lambda step: step.is_users and step.changed},
)

OWN_FUNCTION = StepRule(
    "own-function",
    "your own backward: explain does not check whether it is the derivative",
    "check it with torch.autograd.gradcheck, in float64",
    "function.gradcheck",
    on={"": lambda step: step.is_users and step.whose == "your own"},
)


# Between two operations these only arrange elements.
ARRANGES = {"View", "UnsafeView", "ReshapeAlias", "Expand", "Transpose", "T", "Permute", "Squeeze",
            "Unsqueeze", "Select", "Slice", "Index", "Clone", "ToCopy", "Alias"}  # fmt: skip


def probabilities_made_by(node: Node) -> Node | None:
    """The softmax or sigmoid whose results, as they are, arrive at the input of a node.

    >>> scores = torch.zeros(2, 3, requires_grad=True)
    >>> loss = torch.log_softmax(scores.softmax(1).T, 0)
    >>> probabilities_made_by(loss.grad_fn).name()
    'SoftmaxBackward0'
    """
    for maker in only_way(node.next_functions[0][0]):
        kind = kind_of(name_of(maker))
        if kind in ("Softmax", "Sigmoid"):
            return maker
        if kind not in ARRANGES and not (kind in ("Mm", "Bmm") and _averages(maker)):
            return None
    return None


def _averages(node):
    """Does it multiply by a constant matrix whose rows sum to 1? Probabilities remain such."""
    matrix = getattr(node, "_saved_mat2", None)
    if node.next_functions[1][0] is not None or matrix is None or not bool((matrix >= 0).all()):
        return False
    return torch.allclose(matrix.sum(-1), torch.ones_like(matrix[..., 0]))


def _gets_probabilities(step: BackwardStep) -> bool:
    return step.own is None and probabilities_made_by(step.node) is not None


def _are_probabilities(step: BackwardStep) -> bool:
    """Are they between 0 and 1, with a sum of 1 for each sample? Logarithms are negative."""
    values = step.tensors().get("self")
    if values is None or values.dim() < 2 or values.shape[1] < 2 or bool((values < 0).any()):
        return False
    return torch.allclose(values.sum(1), torch.ones_like(values[:, 0]), atol=1e-3)


# What goes into a loss is not what that loss expects.
EXPECTED = Rulebook(StepRule)

EXPECTED.add(
    "double-softmax/cross-entropy",
    "a softmax or sigmoid goes into log_softmax, which cross_entropy contains: that flattens "
    "the gradient",
    "pass the raw scores (logits) to cross_entropy",
    on={"LogSoftmax": _gets_probabilities},
)

EXPECTED.add(
    "double-softmax/with-logits",
    "a sigmoid or softmax goes into binary_cross_entropy_with_logits, which contains a sigmoid: "
    "that flattens the gradient",
    "pass the raw scores (logits), or use binary_cross_entropy",
    on={"BinaryCrossEntropyWithLogits": _gets_probabilities},
)

EXPECTED.add(
    "nll-of-probabilities",
    "nll_loss gets probabilities: each row sums to 1. It expects their logarithms, so the loss is "
    "-p, not -log p, and a sample that is far off gets almost no gradient",
    "use log_softmax instead of softmax, or pass the raw scores to cross_entropy",
    on={"NllLoss NllLoss2D": _are_probabilities},
)

MODULE_BACKWARD = Rule(
    "module-backward",
    "{name} is a module and defines backward(), which autograd never calls: the gradient is that "
    "of forward()",
    "write a torch.autograd.Function with this backward, and call its apply() in forward",
    "function.inputs",
)

MODULE_FLAG = Rule(
    "module-flag",
    "{name} is a module, and its requires_grad = False is an ordinary attribute, which autograd "
    "ignores: parameters of the module still get gradients",
    "{name}.requires_grad_(False), a method, freezes all parameters of the module",
    "freezing.module",
)

LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}


class Meeting(NamedTuple):
    """Two tensors of different shapes in one call, of which so many require a gradient.

    is_loss  does the result go, element by element, into a mean or sum of the loss?

    >>> BROADCAST.fits(Meeting("mse_loss", 1, (4, 1), (4,)))
    True
    """

    operation: str
    tracked: int
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
    operation, tracked, first, second, is_loss = meeting
    sizes = [[n for n in shape if n != 1] for shape in (first, second)]
    meets = (is_loss and tracked < 2) or (operation in LOSSES and tracked == 1)
    if not meets or not sizes[0] == sizes[1] != []:
        return False
    return math.prod(meeting.result) > math.prod(first)


BROADCAST = Rule(
    "broadcast",
    "probably unwanted: {operation} broadcasts the shapes {first} and {second} to {result}: each "
    "element of one is combined with each of the other",
    "give both the same shape: squeeze(1), or unsqueeze(1) for the other",
    "wrong.broadcast",
    when=_crosses,
)


class ConstantTerm(NamedTuple):
    """What is said about the cut behind a term of the loss that has no history."""

    sentence: str
    fix: str


CONSTANT_TERM = Rule(
    "constant-term/certain",
    "a term that is added to the loss has no history: it changes the value and trains nothing. "
    "{sentence}",
    "{fix}",
)

MAYBE_CONSTANT_TERM = Rule(
    "constant-term/maybe",
    "a term that is added to the loss has no history, maybe by mistake: it changes the value and "
    "trains nothing. {sentence}",
    "{fix}; if it is meant, add the term to what you log, not to the loss",
)
