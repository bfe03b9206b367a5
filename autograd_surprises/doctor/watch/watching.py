"""watch(): counts the steps of a training loop, calls the witnesses, and publishes reports."""

from __future__ import annotations

from collections.abc import Collection

import torch

from autograd_surprises.doctor.diagnosis import expect_model_and_optimizer
from autograd_surprises.doctor.interception import Interception
from autograd_surprises.doctor.watch.changed_models import LaterParameters, Modes
from autograd_surprises.doctor.watch.full_steps import FullSteps
from autograd_surprises.doctor.watch.ranks import Ranks
from autograd_surprises.doctor.watch.sizes import Sizes
from autograd_surprises.doctor.watch.small_updates import FallenRates, LostUpdates
from autograd_surprises.doctor.watch.step_reports import StepReport, StepReports
from autograd_surprises.doctor.watch.summary import Summary
from autograd_surprises.doctor.watch.used_gradients import (
    ClearedBatches,
    Clipping,
    UnusedTerms,
    UsedTwice,
)
from autograd_surprises.doctor.watch.witness import Step, Witness
from autograd_surprises.recording.guest import Quietly

ORDER = ": it is watch(model, optimizer)"


class watch(Interception):  # noqa: N801  a context manager, written like no_grad
    """Watch a training loop: examine its first step, and each step in which something turns bad.

    A step ends with an optimizer's step(), in this thread. It is bad if the loss or a gradient is
    not finite, if a gradient that was there in every step is None or zero for the second step in a
    row (the tenth, if its parameter was not used), or if a witness sees something else: the list of
    them is below. While somebody else records, traces or counts, steps pass unseen.
    Steps are recorded until a loss of each optimizer has been examined, and if they are asked for;
    of the others, the loss and the norm of each gradient are read.

    model      the default: the modules whose parameters the loss reaches
    optimizer  the default: every optimizer
    steps      numbers of steps that are examined in any case

    Raises TypeError for another model or optimizer.

    reports    what was found, a StepReport for each step that was examined
    step       the number of the latest step

    >>> layer = torch.nn.Linear(2, 1)
    >>> sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
    >>> with watch(layer, sgd) as w:
    ...     layer(torch.ones(1, 2)).sum().backward(); sgd.step()
    >>> print(w)
    1 step, examined in full; no alarm
    """

    def __init__(
        self,
        model: torch.nn.Module | None = None,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        steps: Collection[int] = (1,),
    ) -> None:
        expect_model_and_optimizer(model, optimizer, ORDER)
        self.model, self.optimizer, self.steps = model, optimizer, frozenset(steps)
        self._step, self._reports = Step(model), StepReports(self.steps)
        self._witnesses: list[Witness] = []
        self._full = FullSteps(self._step, self._reports, optimizer, self._witnesses)
        self._witnesses += [
            *(Sizes(), UsedTwice(self._full.recorder.reused), Clipping(), Ranks(), UnusedTerms()),
            *(Modes(), LaterParameters(), ClearedBatches(), FallenRates()),
            *(LostUpdates(self._reports.idle), self._reports.idle),
        ]
        self._told = 0  # reports
        self._summary = Summary(self._step, self._full, self._reports)

    @property
    def reports(self) -> list[StepReport]:
        return self._reports.published

    @property
    def step(self) -> int:
        return self._step.number

    @property
    def healthy(self) -> bool:
        """Was a step examined, and nothing bad found? The notes in the summary are no alarm."""
        return self._reports.healthy

    @property
    def summary(self) -> str:
        """How many steps there were, which were examined, and what was found."""
        return str(self._summary)

    def __str__(self):
        return self.summary

    __repr__ = __str__

    def reported(self, report: StepReport) -> None:
        """Called with each new report; for a subclass."""

    def __enter__(self) -> watch:
        super().__enter__()
        self._full.prepare(1)
        return self

    def __exit__(self, *error: object) -> None:
        self._full.record(False)
        super().__exit__(*error)
        self._full.publish()
        self._reports.publish_late(at_the_end=True)
        self._report()
        stepless = self._step.stepless
        self._step.stepless &= bool(self.reports) and not self._step.by_hand
        if self._step.stepless:
            why = " (a GradScaler skips those with inf or NaN)" if self._step.scaled else ""
            self._reports.notes.append(f"no step() of an optimizer was seen{why}")
        self._ask(Witness.at_the_end)
        self._reports.tell_the_rest(self._step)
        self._step.stepless = stepless  # if it is entered again
        self._report()

    def abandon(self):
        self._step.pending = []
        self._full.record(False)
        super().abandon()

    # A step is one backward or several, then an optimizer's step().

    def passed_by(self, why):
        if self._step.begin():
            self._summary.passed[why] += 1
            self._step.passed = True

    def step_passed_by(self):
        self._step.over = True

    def elsewhere(self):
        self._summary.elsewhere = True

    def troubled(self, error):
        self._full.troubled(error)

    def optimizer_built(self, optimizer):
        self._full.built(optimizer)

    def before_backward(self, roots, weights, inputs, frame):
        self._step.begin()
        self._step.look_at_loss(roots)
        self._full.after_forward(roots, weights, inputs, frame)
        self._ask(Witness.after_forward, frame)  # after the doctor's own backward

    def backward_failed(self, error):
        self._step.stepless = False
        self._full.failed(error)
        self._report()

    def after_backward(self):
        self._ask(Witness.after_backward)
        if self._step.by_hand:
            self._end_of_step()

    def before_clipping(self, parameters, frame):
        self._ask(Witness.before_clipping, parameters, frame)

    def before_clearing(self, owner, frame):
        self._ask(Witness.before_clearing, owner, frame)

    def before_optimizer(self, optimizer):
        self._step.stepless = False
        if not self._busy and self.optimizer in (None, optimizer):
            with self._step.made_by(optimizer):
                self._ask(Witness.before_step)

    def after_optimizer(self, optimizer):
        self._step.stepless = False
        if not self.step or self.optimizer not in (None, optimizer):
            return
        with self._step.made_by(optimizer):
            self._full.after_step()
            self._ask(Witness.after_step)
            if self._step.mine:
                if not (self._step.over or self._step.passed or self.step in self._full.numbers):
                    self._summary.by_sizes += 1
                self._end_of_step()
        self._reports.tell_the_rest(self._step)
        self._report()

    def _end_of_step(self):
        self._reports.publish_late()
        self._full.publish()
        self._report()
        self._step.end()
        self._full.prepare(self.step + 1)

    def _ask(self, event, *facts):
        """Each witness is told of this event; what it tells is published, or waits."""
        for witness in self._witnesses:
            with Quietly(self.troubled):
                for told in getattr(witness, event.__name__)(self._step, *facts) or ():
                    self._reports.tell(self._step, told)
                self._report()

    def _report(self):
        """Hand over what is new."""
        while self._told < len(self.reports):
            self._told += 1
            self.reported(self.reports[self._told - 1])
