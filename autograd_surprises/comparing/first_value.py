"""The first call of the forward pass whose result two steps compute differently."""

import sys
from typing import NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from autograd_surprises.comparing.alignment import aligned
from autograd_surprises.comparing.distance import distance, last_digit, size
from autograd_surprises.recording.forward_calls import name_and_role
from autograd_surprises.recording.forward_values import numbers_in
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.recording.stack import tensors_in


class Value(NamedTuple):
    """One result of a call of torch: its name, its line, and the numbers it had then."""

    name: str
    where: Where | None
    numbers: torch.Tensor


class ForwardResults(TorchFunctionMode):
    """A context that keeps each floating-point result of a call of torch: for one step.

    >>> with ForwardResults() as results:
    ...     y = torch.ones(2).exp() * 2
    >>> [value.name for value in results.values]
    ['ones', 'exp', 'mul']
    """

    def __init__(self):
        super().__init__()
        self.values: list[Value] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name, role = name_and_role(func)
        if role in ("value", "change"):
            where = where_from(sys._getframe(1))
            floats = (t for t in tensors_in(result) if t.is_floating_point())
            self.values += [Value(name, where, numbers_in(tensor)) for tensor in floats]
        return result


def first_different(a: list[Value], b: list[Value], relative: float) -> tuple[Value, Value] | None:
    """The first calls of a and b after those with the same result; None if all have.

    relative  the usual relative rounding error

    >>> with ForwardResults() as one: y = torch.ones(2).exp() * 2
    >>> with ForwardResults() as other: y = torch.ones(2).exp() * 3
    >>> [value.name for value in first_different(one.values, other.values, 0.0)]
    ['mul', 'mul']
    """
    agreed = (-1, -1)
    for i, j in aligned([v.name for v in a], [v.name for v in b]):
        mine, theirs = a[i].numbers, b[j].numbers
        floor = (size(mine) * relative).or_larger(last_digit(mine))
        if mine.shape != theirs.shape or distance(mine, theirs).beyond(floor):
            # What only one of them computes before this may be the reason.
            return a[agreed[0] + 1], b[agreed[1] + 1]
        agreed = i, j
    return None
