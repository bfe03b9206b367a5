"""Gradients of several batches that are cleared, though they were to be added up."""

from collections.abc import Sequence
from weakref import ref

import torch

from autograd_surprises.recording.places import Where
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.loops import CLEARED_BATCHES

STEPS = 3  # in a row


class ClearedBatches:
    """Sees zero_grad() before each of several backward() of one step.

    What proves it: in three steps in a row, what one line had given was cleared, with no weight
    changed since the step before, and step() used what the same line gave next. What a user has
    read of the cleared gradients cannot be seen.

    >>> batches, w = ClearedBatches(), torch.ones(1, requires_grad=True)
    >>> batches.before_step([w]) is None
    True
    """

    def __init__(self):
        self._line: Where | None = None  # of the latest backward()
        self._versions: dict[int, int] = {}  # of weights by id, since the latest step
        self._cleared: dict[
            Where, Where
        ] = {}  # in this step: the line of a backward(), of clearing
        self._again: set[Where] = set()  # lines that ran again after that
        self._seen: list[ref] = []  # whose gradients were cleared
        self._gave: dict[int, tuple[int, int]] = {}  # by id of a weight: its gradient, as given
        self._clipped_as_given: bool | None = None  # None: not clipped since
        self._steps = 0

    def before_backward(self, where: Where | None) -> None:
        """It is called there."""
        self._line = where
        if where in self._cleared:
            self._again.add(where)

    def after_backward(self) -> None:
        """It is done."""
        alive = [p for p in (known() for known in self._seen) if p is not None]
        self._gave = {id(p): _state(p.grad) for p in alive}
        self._clipped_as_given = None

    def before_clipping(self, parameters: Sequence[torch.Tensor]) -> None:
        """The gradients of these are about to be clipped, in place."""
        if self._clipped_as_given is None:
            self._clipped_as_given = self._are_as_given(parameters)

    def before_clearing(self, parameters: Sequence[torch.Tensor], where: Where | None) -> None:
        """The gradients of these, which are not 0, are about to be cleared."""
        if self._line is not None and all(
            p._version == self._versions.get(id(p)) for p in parameters
        ):
            self._cleared[self._line] = where
            self._again.discard(self._line)
            self._seen = [ref(p) for p in parameters]

    def before_step(self, parameters: Sequence[torch.Tensor]) -> Finding | None:
        """The gradients of these are about to be used."""
        line, cleared = self._line, self._cleared.get(self._line)
        as_given = self._clipped_as_given
        if as_given is None:
            as_given = self._are_as_given(parameters)
        self._steps = self._steps + 1 if line in self._again and as_given else 0
        if self._steps != STEPS:
            return None
        places = (("backward at", line), ("cleared at", cleared))
        return CLEARED_BATCHES.finding(steps=STEPS).about("gradients", "wrong", places)

    def after_step(self, parameters: Sequence[torch.Tensor]) -> None:
        """It is done."""
        self._versions = {id(p): p._version for p in parameters}
        self._cleared, self._again = {}, set()

    def _are_as_given(self, parameters):
        """Does each hold what backward() gave to it, and nobody has written there?"""
        held = [p for p in parameters if p.grad is not None]
        return all(_state(p.grad) == self._gave.get(id(p)) for p in held)


def _state(gradient):
    return None if gradient is None else (id(gradient), gradient._version)
