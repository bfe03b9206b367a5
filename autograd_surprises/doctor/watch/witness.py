"""What each witness of a training loop can be told, and what it tells."""

from collections.abc import Iterable, Sequence
from types import FrameType
from typing import NamedTuple

import torch
from torch import nn
from torch.optim import Optimizer

from autograd_surprises.doctor.watch.step import Step
from autograd_surprises.symptoms.finding import Finding


class Told(NamedTuple):
    """What a witness has found, and why it tells of this step.

    If `unless_known`, it waits for the reports of the step and leaves out what they say. What is
    no alarm becomes a note.
    """

    why: str
    findings: Sequence[Finding]
    unless_known: bool = False


Telling = Iterable[Told] | None


class Witness:
    """Sees one thing in a training loop. Each method returns or yields what it has to tell.

    >>> Witness().after_step(Step()) is None
    True
    """

    def examined(self, step: Step, frame: FrameType, model: nn.Module | None, terms: Iterable):
        """A loss was examined; it trains this model, and `detached_terms` names these terms."""

    def after_forward(self, step: Step, frame: FrameType) -> Telling:
        """The loss is known, and `frame` has called its backward(), which is about to run."""

    def after_backward(self, step: Step) -> Telling:
        """It is done."""

    def before_clipping(
        self, step: Step, parameters: Sequence[torch.Tensor], frame: FrameType
    ) -> Telling:
        """The gradients of these are about to be clipped, in place; `frame` called for it."""

    def before_clearing(
        self, step: Step, owner: Optimizer | nn.Module, frame: FrameType
    ) -> Telling:
        """zero_grad() of this is about to run; `frame` called it."""

    def before_step(self, step: Step) -> Telling:
        """An optimizer's step() is about to run."""

    def after_step(self, step: Step) -> Telling:
        """It is done."""

    def at_the_end(self, step: Step) -> Telling:
        """There are no more steps."""
