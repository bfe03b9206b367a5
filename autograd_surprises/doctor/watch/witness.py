"""What each witness of a training loop is told, of which step, and what it tells."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import NamedTuple

import torch
from torch import nn
from torch.optim import Optimizer

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.facts.processes import rank_and_size
from autograd_surprises.recording.forward_calls import is_finite
from autograd_surprises.recording.modules import parameters_in
from autograd_surprises.show.findings import listed
from autograd_surprises.symptoms.finding import Finding

EARLY = 10  # steps in which a layer that is skipped at random gets its first gradient


@dataclass(eq=False)
class Step:
    """The step that runs: backward(), perhaps several, and step() of an optimizer, of several too.

    It begins with the first backward() after a step(). What one optimizer does is known while it
    makes its step().

    >>> step = Step()
    >>> step.begin(), step.number, step.early, step.over
    (True, 1, True, False)
    """

    model: nn.Module | None = None  # that is watched; None: whatever the loss reaches
    number: int = 0
    loss: torch.Tensor | None = None  # the latest
    backwards: int = 0
    reached: set[int] = field(default_factory=set)  # ids of leaves whose gradients were examined
    over: bool = True  # has an optimizer made its step()?
    passed: bool = False  # must it not be looked at?
    # Reports of its losses that are not published yet, each with the tensors that it names.
    pending: list[tuple[Report, dict[str, torch.Tensor]]] = field(default_factory=list)
    finite: bool = True  # is the loss?
    turned: bool = False  # or has it just turned inf or NaN?
    bad: bool = False  # was it, or a gradient, not finite?
    # {id of a parameter: steps since its gradient has died}: to be examined in this step, the next
    suspects: dict[int, int] = field(default_factory=dict)
    died: dict[int, int] = field(default_factory=dict)
    processes: tuple[int, int] = (0, 1)  # the rank of this one, and how many train together
    names: dict[int, str] = field(default_factory=dict)  # of parameters, by id, as far as known
    scaled: bool = False  # is there a GradScaler?
    by_hand: bool = False  # is there no optimizer?
    inputs: bool = False  # may somebody want the gradient of an input, and no step?
    stepless: bool = True  # has no optimizer made any step so far, and no backward() failed?
    optimizer: Optimizer | None = None
    parameters: Sequence[torch.Tensor] = ()  # that it holds
    mine: bool = True  # is one of them, or was one at first, a parameter of the watched model?
    _sizes: list[float | None] | None = None

    def begin(self) -> bool:
        """A backward() is about to run: is it the first of a step?"""
        new = self.over
        if new:
            self.number, self.over, self.passed = self.number + 1, False, False
            self.backwards, self.reached = 0, set()
        self.backwards += 1
        return new

    def look_at_loss(self, roots: Sequence[torch.Tensor]) -> None:
        """These are what backward() was called of."""
        self.processes, self.loss = rank_and_size(), roots[0].detach()
        self.finite = all(map(is_finite, roots))
        self.turned = not self.finite and not self.bad
        self.bad = self.bad or not self.finite

    @contextmanager
    def made_by(self, optimizer: Optimizer) -> Iterator[None]:
        """A context in which this one makes its step(); nothing keeps it alive afterwards."""
        self.optimizer, self.parameters = optimizer, parameters_of(optimizer)
        try:
            yield
        finally:
            self.optimizer, self.parameters, self._sizes = None, (), None

    def end(self) -> None:
        """An optimizer has made its step()."""
        self.suspects = self.died | self.suspects if self.over else self.died
        self.died, self.over = {}, True

    @property
    def early(self) -> bool:
        return self.number <= EARLY

    @property
    def ids(self) -> set[int]:
        return ids_of(self.parameters)

    @property
    def sizes(self) -> list[float | None]:
        """The norm of the gradient of each parameter; None where there is none."""
        if self._sizes is None:
            with torch.no_grad():
                self._sizes = norms(self.parameters)
        return self._sizes

    def is_mine(self, ids: set[int]) -> bool:
        """Is one of these a parameter of the watched model?"""
        return self.model is None or not ids.isdisjoint(map(id, parameters_in(self.model)))

    def cleared(self, owner: Optimizer | nn.Module) -> list[torch.Tensor]:
        """Of which parameters zero_grad() clears a gradient other than 0 before step() uses it.

        Only in early steps: [] in others.
        """
        if self.over or not self.early:
            return []
        parameters = parameters_of(owner)
        return [p for p, size in zip(parameters, norms(parameters), strict=True) if size]

    def named(self, positions: Iterable[int], parameters: Sequence[torch.Tensor]) -> str:
        """The names of these of the parameters, as one text."""
        names = [self.names.get(id(parameters[i]), f"parameter {i}") for i in positions]
        return listed(names, most=6)


def ids_of(tensors: Iterable[torch.Tensor]) -> set[int]:
    """The ids of these tensors."""
    return {id(tensor) for tensor in tensors}


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
    """Sees one thing in a training loop. Each method returns or yields what it has to tell."""

    def trains(self, step: Step, model: nn.Module | None):
        """A loss trains this model; it is about to be examined."""

    def examined(self, step: Step, frame: FrameType, terms: Iterable):
        """A recorded loss was examined, of which `detached_terms` names these terms."""

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
