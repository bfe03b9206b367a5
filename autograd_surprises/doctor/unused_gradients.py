"""Gradients that were cleared before any optimizer had made a step."""

from collections.abc import Sequence
from weakref import ref

import torch

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.first_steps import fingerprints


class UnusedGradients:
    """Counts the backward passes whose gradients were gone when the next one began.

    times  how many there were; it counts until the gradients are there once

    >>> w, unused = torch.ones(2, requires_grad=True), UnusedGradients()
    >>> unused.of([w])
    >>> for _ in range(3):
    ...     unused.before_backward(); w.sum().backward(); unused.after_backward(); w.grad = None
    >>> unused.times, unused.unmoved
    (2, True)
    """

    def __init__(self):
        self.times = 0
        self._parameters: list[ref[torch.Tensor]] = []
        self._given = False  # did the latest backward give them gradients?
        self._before: list[int | None] = []

    def of(self, parameters: Sequence[torch.Tensor]) -> None:
        """Count for these."""
        self._parameters = [ref(parameter) for parameter in parameters]

    def before_backward(self) -> None:
        """A backward is about to run."""
        if self._given:
            alive = self._alive()
            if any(norms(alive)):  # they accumulate
                self._parameters = []
            else:
                self.times += 1
                self._before = self._before or fingerprints(alive)
        self._given = False

    def after_backward(self) -> None:
        """It is done."""
        self._given = any(parameter.grad is not None for parameter in self._alive())

    @property
    def unmoved(self) -> bool:
        """Are the parameters what they were, though perhaps not through an optimizer?"""
        known = bool(self._before) and None not in self._before
        return known and self._before == fingerprints(self._alive())

    def _alive(self):
        parameters = [reference() for reference in self._parameters]
        return [parameter for parameter in parameters if parameter is not None]
