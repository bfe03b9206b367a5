"""A tensor gets a gradient, but no optimizer updates it."""

from __future__ import annotations

from typing import NamedTuple

from autograd_surprises.doctor.rules.rule import Rule

UNREGISTERED = Rule(
    "unregistered",
    "it gets a gradient but is not in model.parameters(), so no optimizer updates it: nn.Module "
    "does not look into plain lists, dicts and attributes",
    "use nn.ParameterList or nn.ModuleList, or self.w = nn.Parameter(...), in __init__",
    "08_none_zero_nan.ipynb#Scales-in-a-list",
)

UNREGISTERED_RESULT = Rule(
    "unregistered",
    "it is a non-leaf, computed from a tensor that is not in model.parameters(): the gradient goes "
    "to that tensor, and no optimizer updates it",
    "register the result, nn.Parameter(p.to(device)), or register p and move the whole module",
    "01_parameter_or_variable.ipynb#When-a-Parameter-does-not-work",
)

MADE_IN_FORWARD = Rule(
    "new-parameter",
    "it gets a gradient but is not in model.parameters(), so no optimizer updates it: probably "
    "each forward makes a new one",
    "create the Parameter once, in __init__",
    "01_parameter_or_variable.ipynb#When-a-Parameter-does-not-work",
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
    "08_none_zero_nan.ipynb#The-layer-that-came-later",
)

NOT_IN_OPTIMIZER = Rule(
    "not-in-optimizer",
    "it is a parameter of the model, but the optimizer does not hold it",
    "build the optimizer when the model is complete, and pass it every parameter",
    "08_none_zero_nan.ipynb#The-layer-that-came-later",
)
