"""What a watch says of all steps together."""

from collections import Counter
from dataclasses import dataclass, field

from autograd_surprises.doctor.watch.full_steps import FullSteps
from autograd_surprises.doctor.watch.step_reports import StepReports
from autograd_surprises.doctor.watch.witness import Step
from autograd_surprises.show.findings import listed

NO_STEP_SEEN = "no training step was seen: nothing called backward() of a tensor"
NO_STEP_HERE = (
    "no training step was seen: another thread called backward(), and watch() sees only the thread "
    "that it was called in. Write `with watch():` inside the function that trains"
)


@dataclass
class Summary:
    """How many steps there were, how closely they were looked at, and what was found.

    >>> step, reports = Step(), StepReports({1})
    >>> print(Summary(step, FullSteps(step, reports, None, []), reports))
    no training step was seen: nothing called backward() of a tensor
    """

    step: Step
    full: FullSteps
    reports: StepReports
    by_sizes: int = 0  # steps that were not examined, but the witnesses have seen them
    passed: Counter = field(default_factory=Counter)  # why so many steps were not looked at
    elsewhere: bool = False  # does another thread call backward()?

    def __str__(self):
        if not self.step.number:
            return NO_STEP_HERE if self.elsewhere else NO_STEP_SEEN
        rank, size = self.step.processes
        rows = [f"rank {rank} of {size}: {self._looked_at}" if size > 1 else self._looked_at]
        bad = [each for each in self.reports.published if not each.healthy]
        if bad:
            rows.append(f"first bad step: {bad[0].step} ({bad[0].why})")
        elif self.reports.healthy:
            rows[0] += "; no alarm"
        elif not self.full.numbers and not self.reports.troubles:
            rows[0] += f": {self.full.unseen}"
        for each in bad:
            rows += [f"  step {each.step}: {line}" for line in each.headlines()]
        return "\n".join([*rows, *self.reports.notes, *self.reports.troubles])

    @property
    def _looked_at(self):
        number, full = self.step.number, self.full.numbers
        if number == 1 and full:
            return "1 step, examined in full"
        which = listed([str(each) for each in sorted(full)], most=8)
        steps = f"{number} {'step' if number == 1 else 'steps'}"
        parts = [f"{len(full) or 'none'} of {steps} examined in full"]
        parts[0] += f" ({which})" if which else ""
        parts += [f"{self.by_sizes} by sizes"] if self.by_sizes else []
        parts += [f"{n} not looked at, because of {why}" for why, n in self.passed.items()]
        return ", ".join(parts)
