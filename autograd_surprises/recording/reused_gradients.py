"""Gradients that an optimizer used twice, because nothing cleared them in between."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from weakref import ref

import torch
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

from autograd_surprises.facts.processes import is_spread
from autograd_surprises.recording.guest import Quietly, who_else
from autograd_surprises.recording.places import Where, where_from

AGAIN = 3  # sums that were used, not in a row, are no exception


@dataclass
class _Used:
    """A gradient that was used, the backward that then added to it, and the step that used both."""

    parameter: ref
    gradient: int  # its id
    # Before the backward that runs: the version of the gradient, and who called.
    running: tuple[int, Where | None] | None = None
    added_at: Where | None = None
    again_at: Where | None = None
    added: bool = False  # has one added to it since the latest step?
    sums: int = 0  # how many steps used a sum


class ReusedGradients:
    """Follows the .grad of what optimizers step, while it is watching.

    >>> ReusedGradients().used_again(torch.ones(2)) is None
    True
    """

    def __init__(self):
        self._used: dict[int, _Used] = {}
        self._sums: dict[int, tuple[ref, int]] = {}  # by id of a parameter: steps that used a sum

    @contextmanager
    def watching(self, tell: Callable[[Exception], object]) -> Iterator[None]:
        """While this is active, it sees each step; an error of its own is handed to `tell`."""

        def step_begins(optimizer, args, kwargs):
            if not who_else():
                with Quietly(tell):
                    self.before_step(optimizer)

        # Before a step, not after it: watch() ends a recording there, while torch calls its hooks.
        handle = register_optimizer_step_pre_hook(step_begins)
        try:
            yield
        finally:
            handle.remove()

    def before_backward(self, caller: FrameType) -> None:
        """What still holds the gradient of an earlier step may get a sum."""
        where = None
        for key, used in list(self._used.items()):
            parameter = used.parameter()
            if not _holds(parameter) or id(parameter.grad) != used.gradient:
                del self._used[key]
            else:
                where = where or where_from(caller)
                used.running = parameter.grad._version, where

    def after_backward(self) -> None:
        """It has, unless this backward does not reach it: others may write into .grad by hand."""
        for used in list(self._used.values()):
            running, used.running = used.running, None
            parameter = used.parameter()
            if running is None or parameter is None or parameter.grad is None:
                continue
            if (id(parameter.grad), parameter.grad._version) != (used.gradient, running[0]):
                used.added_at = used.added_at or running[1]
                used.added, used.gradient = True, id(parameter.grad)

    def before_step(self, optimizer: Optimizer) -> None:
        """An optimizer is about to use the gradients of what it holds."""
        where = None
        for parameter in (p for group in optimizer.param_groups for p in group["params"]):
            used = self._used.get(id(parameter))
            if parameter.grad is None:
                continue
            if used is None or used.parameter() is not parameter:
                self._used[id(parameter)] = _Used(ref(parameter), id(parameter.grad))
            elif used.added:
                where = where or where_from(sys._getframe(1))
                used.again_at = used.again_at or where
                used.added, used.sums = False, used.sums + 1
                known, times = self._sums.get(id(parameter), (ref(parameter), 0))
                times = times + 1 if known() is parameter else 1
                self._sums[id(parameter)] = ref(parameter), times

    def used_again(self, tensor: torch.Tensor, times: int = 1) -> tuple[Where, Where] | None:
        """The backward that added to a used gradient, and the step that used the sum.

        times  None, if fewer steps in a row used a sum, and it has not happened again and again
        """
        used = self._used.get(id(tensor))
        if used is None or used.parameter() is not tensor:
            return None
        if used.sums < times and (not used.sums or self._sums[id(tensor)][1] < AGAIN):
            return None
        return (used.added_at, used.again_at) if _holds(tensor) else None


def _holds(tensor):
    """Does it hold a gradient that is not 0, as far as this process can see?"""
    gradient = None if tensor is None else tensor.grad
    return gradient is not None and not is_spread(gradient) and bool(gradient.any())
