"""Gradients that an optimizer used twice, because nothing cleared them in between."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from weakref import ref

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.several_processes import is_spread


@dataclass
class _Used:
    """A gradient that was used, the backward that then added to it, and the step that used both."""

    parameter: ref
    added_at: Where | None = None
    again_at: Where | None = None


class ReusedGradients:
    """Follows the .grad of what optimizers step, while it is watching.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> optimizer, reused = torch.optim.SGD([weight], lr=0.1), ReusedGradients()
    >>> with reused.watching():
    ...     for _ in range(2):
    ...         reused.before_backward(sys._getframe())
    ...         weight.square().sum().backward()
    ...         optimizer.step()
    >>> reused.used_again(weight) is None
    False
    """

    def __init__(self):
        self._used: dict[int, _Used] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        # Before a step, not after it: watch() ends a recording there, while torch calls its hooks.
        handle = register_optimizer_step_pre_hook(self._before_step)
        try:
            yield
        finally:
            handle.remove()

    def before_backward(self, caller: FrameType) -> None:
        """What still holds the gradient of an earlier step will get a sum."""
        for key, used in list(self._used.items()):
            if not _holds(used.parameter()):
                del self._used[key]
            elif used.added_at is None:
                used.added_at = where_from(caller)

    def _before_step(self, optimizer, args, kwargs):
        where = None
        for parameter in (p for group in optimizer.param_groups for p in group["params"]):
            used = self._used.get(id(parameter))
            if parameter.grad is None:
                continue
            if used is None or used.parameter() is not parameter:
                self._used[id(parameter)] = _Used(ref(parameter))
            elif used.added_at is not None and used.again_at is None:
                where = used.again_at = where or where_from(sys._getframe(1))

    def used_again(self, tensor: torch.Tensor) -> tuple[Where, Where] | None:
        """The backward that added to a used gradient, and the step that used the sum."""
        used = self._used.get(id(tensor))
        if used is None or used.again_at is None or used.parameter() is not tensor:
            return None
        return (used.added_at, used.again_at) if _holds(tensor) else None


def _holds(tensor):
    """Does it hold a gradient that is not 0, as far as this process can see?"""
    gradient = None if tensor is None else tensor.grad
    return gradient is not None and not is_spread(gradient) and bool(gradient.any())
