"""Which findings of a training step are reported, and when."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import torch

from autograd_surprises.doctor.diagnosis import description
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.watch.idle_optimizers import IdleOptimizers, called
from autograd_surprises.doctor.watch.witness import EARLY, Step, Told
from autograd_surprises.recording.history import History
from autograd_surprises.show.findings import grouped, listed
from autograd_surprises.symptoms.finding import STATUS_TEXTS

UNUSED = "unused/never"  # in this step; in others, a layer that is skipped at random is used
DEAD = ("none", "zero", "tiny", "not trained")
Named = dict[str, torch.Tensor]


@dataclass(frozen=True)
class StepReport:
    """The report of one step: its number, why it was examined, and what was found."""

    step: int
    why: str
    report: Report

    @property
    def healthy(self) -> bool:
        return self.report.healthy

    def headlines(self) -> list[str]:
        """A line for each cause of bad gradients."""
        bad = [found for found in self.report.findings if found.alarming]
        lines = []
        for group in grouped(bad, lambda found: (found.status, found.sentence, found.where)):
            first, names = group[0], listed([found.name for found in group], most=3)
            why = f": {first.sentence}" if first.sentence else ""
            where = f" [{first.where}]" if first.where else ""
            lines.append(f"{STATUS_TEXTS.get(first.status, first.status)} {names}{why}{where}")
        return lines

    def __str__(self):
        head = f"step {self.step} ({self.why})"
        if self.healthy:
            return f"{head}: healthy, loss {self.report.loss}"
        return f"{head}\n{self.report}"

    __repr__ = __str__


class StepReports:
    """The reports of a training loop. A step is over before its findings are certain.

    Another loss of this step may train what one loss does not reach, and the second step of an
    optimizer may reach what the first did not.

    steps  numbers of steps whose reports are published even if all is known

    idle       the witness of what no step has moved so far
    published  a StepReport for each step that was examined
    notes      why an optimizer has not moved what it holds
    troubles   what could not be examined
    held       ids of what the optimizers of examined losses hold

    >>> x, reports = torch.ones(2, requires_grad=True), StepReports({1})
    >>> step = Step(number=1, pending=[(explain((2 * x).sum(), {"x": x}), {"x": x})])
    >>> reports.publish(step, "the first one"); reports.published
    [step 1 (the first one): healthy, loss 4, made by SumBackward0]
    """

    def __init__(self, steps: Collection[int]):
        self.idle = IdleOptimizers()
        self.published: list[StepReport] = []
        self.notes: list[str] = []
        self.troubles: list[str] = []
        self.held: set[int] = set()
        self.steps = steps
        self._late: list[tuple[StepReport, Named]] = []  # whose alarms the next step may end
        self._waiting: list[Told] = []  # for the reports of this step
        self._known_dead: set[tuple[str, str]] = set()  # status and name of what was reported

    @property
    def healthy(self) -> bool:
        """Was a step examined, and nothing bad found?"""
        good = all(each.healthy for each in self.published) and not self.troubles
        return good and bool(self.published)

    def trouble(self, step: Step, why: str) -> None:
        """This step could not be examined; each reason once."""
        if not any(text.endswith(f": {why}") for text in self.troubles):
            text = f"step {step.number} could not be examined: {why}"
            self.troubles = [*self.troubles[:4], text]

    def publish(self, step: Step, why: str) -> None:
        """Publish the pending reports, now that the gradients of all losses of this step are known.

        why  it was examined; if it is "", only bad findings about its `suspects` count
        """
        pending, step.pending = step.pending, []
        for report, named in pending:
            findings = [f for f in report.findings if not self._came(f, named)]
            if step.backwards > 1:  # another loss may train what this one does not
                findings = [f for f in findings if f.status not in DEAD or not _alive(f, named)]
            if step.number not in self.steps:  # what was reported is not reported again
                findings = [f for f in findings if (f.status, f.name) not in self._known_dead]
            since = step.number - 1
            if not why:
                dead_for = {f: step.suspects.get(id(named.get(f.name)), 0) for f in findings}
                # A layer that is skipped at random is unused now and then.
                findings = [f for f, n in dead_for.items() if n > (f.rule == UNUSED)]
                since = step.number - max((dead_for[f] for f in findings), default=1)
            if not why and not any(found.alarming for found in findings):
                continue
            findings = tuple(replace(f, name=called(f.name, named)) for f in findings)
            alarms = [f for f in findings if f.alarming]
            told = [each for each in self.published if each.step == step.number]
            if not alarms and not all(each.healthy for each in told):
                continue  # one step is not both bad and healthy
            why_now = why or f"gradients have died since step {since}"
            found = StepReport(step.number, why_now, replace(report, findings=findings))
            if alarms and all(self._may_come(f, named) for f in alarms):
                self._late.append((found, named))
            else:
                self._add(found)

    def publish_late(self, at_the_end: bool = False) -> None:
        """What the loss of an optimizer's first step did not reach, the second may have reached."""
        late, self._late = self._late, []
        for report, named in late:
            findings = [f for f in report.report.findings if not self._came(f, named)]
            if at_the_end or not any(self._may_come(f, named) for f in findings):
                known = replace(report.report, findings=tuple(findings))
                self._add(replace(report, report=known))
            else:
                self._late.append((report, named))

    def tell(self, step: Step, told: Told) -> None:
        """Publish what a witness has found, or keep it for later."""
        if told.unless_known:
            self._waiting.append(told)
        else:
            self._publish_found(step, told.why, told.findings)

    def tell_the_rest(self, step: Step) -> None:
        """Publish what a witness has found and is not known, now that the reports are out."""
        waiting, self._waiting = self._waiting, []
        for why, findings, _ in waiting:
            known = {_key(found) for each in self.published for found in each.report.findings}
            normal = [found for found in findings if not found.alarming]
            for group in grouped(normal, lambda found: found.sentence):
                names = listed([found.name for found in group], most=3)
                self.notes.append(f"not trained: {names}: {group[0].sentence}")
            new = [f for f in findings if f.alarming and _key(f) not in known]
            if new:
                self._publish_found(step, why, new)

    def _publish_found(self, step, why, findings):
        report = Report(description(step.loss), tuple(findings), None, History(), {})
        self._add(StepReport(step.number, why, report))

    def _add(self, report):
        dead = [f for f in report.report.findings if f.status in DEAD]
        self._known_dead.update((found.status, found.name) for found in dead)
        self.published.append(report)

    def _may_come(self, found, named):
        steps = _steps_to_come(found)
        return self._missed(found, named) and self.idle.may_come(named[found.name], steps)

    def _came(self, found, named):
        steps = _steps_to_come(found)
        return self._missed(found, named) and self.idle.has_come(named[found.name], steps)

    def _missed(self, found, named):
        """Is it about what an optimizer holds and this loss does not reach?"""
        none = found.alarming and found.status == "none"
        return none and id(named.get(found.name)) in self.held


def _key(found):
    return found.status, found.sentence, found.where


def _steps_to_come(found):
    """In how many steps may the gradient still come?"""
    return EARLY if found.rule == UNUSED else 2


def _alive(found, named):
    """Has the tensor that it is about a gradient other than zero?"""
    gradient = named[found.name].grad if found.name in named else None
    return gradient is not None and bool(gradient.any())
