"""A tensor gets a gradient, but no optimizer updates it; or an optimizer makes steps in vain."""

from __future__ import annotations

from typing import NamedTuple

import torch

from autograd_surprises.symptoms.rule import Rule, Rulebook

UNREGISTERED = Rule(
    "unregistered/attribute",
    "it gets a gradient but is not in model.parameters(), so no optimizer updates it: nn.Module "
    "does not look into plain lists, dicts and attributes",
    "use nn.ParameterList or nn.ModuleList, or self.w = nn.Parameter(...), in __init__",
    "untrained.list",
)

UNREGISTERED_RESULT = Rule(
    "unregistered/result",
    "it is a non-leaf, computed from a tensor that is not in model.parameters(): the gradient goes "
    "to that tensor, and no optimizer updates it",
    "register the result, nn.Parameter(p.to(device)), or register p and move the whole module",
    "parameter.fails",
)

MADE_IN_FORWARD = Rule(
    "new-parameter/in-forward",
    "it gets a gradient but is not in model.parameters(), so no optimizer updates it: probably "
    "each forward makes a new one",
    "create the Parameter once, in __init__",
    "parameter.fails",
)


class Strangers(NamedTuple):
    """Tensors of the optimizer that are not parameters of the model.

    >>> STALE_OPTIMIZER.finding(Strangers(2)).fix
    'build the optimizer last, from model.parameters()'
    """

    count: int


STALE_OPTIMIZER = Rule(
    "stale-optimizer",
    "it holds {count} tensors that are not parameters of the model: probably they were replaced "
    "after it was built",
    "build the optimizer last, from model.parameters()",
    "untrained.later",
)

NOT_IN_OPTIMIZER = Rule(
    "not-in-optimizer/parameter",
    "it is a parameter of the model, but the optimizer does not hold it",
    "build the optimizer when the model is complete, and pass it every parameter",
    "untrained.later",
)


NO_LOSS = Rule(
    "no-loss",
    "no backward() has given it a gradient, and {optimizer} has made {often}",
    "compute the loss from the parameters that this optimizer holds: not from detached tensors, "
    "and not from a copy of the module made after the optimizer",
    "none",
)

HOLDS_FROZEN = Rule(
    "frozen/optimizer",
    "in its first step, it held only parameters that were frozen",
    "do nothing if that is how you freeze them",
    alarm=False,
)

SKIPPED = Rule(
    "skipped-steps",
    "a GradScaler skipped each of its steps, since a gradient was inf or NaN",
    "watch more steps: the scaler halves its scale each time",
    "half.skipped",
    alarm=False,
)


class Idle(NamedTuple):
    """An optimizer with what no loss has reached, and how many steps it has made.

    >>> NO_LOSS.finding(Idle("SGD", 2)).sentence
    'no backward() has given it a gradient, and SGD has made 2 steps'
    """

    optimizer: str
    steps: int

    @property
    def often(self) -> str:
        return "1 step" if self.steps == 1 else f"{self.steps} steps"


class Unmoved(NamedTuple):
    """A parameter with a gradient other than 0 of which no element has changed.

    steps   of its optimizer
    rate    the learning rate, if it is known
    others  do others move that this optimizer holds?
    early   may a later step with a larger learning rate move it?

    >>> UNMOVED.first(Unmoved(2, 1e-6, torch.bfloat16, others=False, early=False)).cause
    'lost-update'
    """

    steps: int
    rate: float | None
    dtype: torch.dtype
    others: bool
    early: bool

    @property
    def known_rate(self) -> str:
        return "" if self.rate is None else f" of {self.rate:g}"

    @property
    def half(self) -> bool:
        return self.dtype in (torch.float16, torch.bfloat16)

    @property
    def distance(self) -> str:
        return f"{torch.finfo(self.dtype).eps:.2g}"


# No step has moved it.
UNMOVED = Rulebook(Rule)

UNMOVED.add(
    "early",
    "no step has moved it so far, with a learning rate{known_rate}, which may still rise",
    "watch more steps",
    when=lambda facts: facts.early,
    alarm=False,
)

UNMOVED.add(
    "learning-rate/one-group",
    "its learning rate is 0, and other parameters of this optimizer move",
    "do nothing if that is how you freeze it",
    when=lambda facts: facts.rate == 0 and facts.others,
    alarm=False,
)

UNMOVED.add(
    "learning-rate/all",
    "the learning rate is 0: none of its elements changed in {steps} steps of the optimizer",
    "set lr, or look at what the scheduler makes of it",
    when=lambda facts: facts.rate == 0,
)

UNMOVED.add(
    "lost-update/half",
    "its gradient is not 0, but none of its elements changed in {steps} steps of the optimizer: "
    "probably each update, with a learning rate{known_rate}, is too small for {dtype}, whose "
    "numbers near 1 are {distance} apart, and is rounded away",
    "keep the weights in float32 and compute with torch.autocast, or take a larger learning rate",
    "half.bfloat16",
    when=lambda facts: facts.half,
)

UNMOVED.add(
    "lost-update/single",
    "its gradient is not 0, but none of its elements changed in {steps} steps of the optimizer: "
    "probably each update, with a learning rate{known_rate}, is too small for {dtype} and is "
    "rounded away",
    "take a larger learning rate, or look for what makes the gradient so small",
)
