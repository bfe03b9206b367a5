"""Learning rates that have fallen so far that nothing moves any more."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from torch.optim import Optimizer

from autograd_surprises.doctor.watch.fingerprints import fingerprints
from autograd_surprises.doctor.watch.step import Step
from autograd_surprises.doctor.watch.witness import Told, Witness
from autograd_surprises.recording.setup_lines import built_at
from autograd_surprises.symptoms.untrained import RATE_HAS_FALLEN

FIRST = 16  # the step from which on to look
FALLEN = 1e-3  # of the learning rate of the first step


@dataclass
class _Looked:
    """What is known of one optimizer: the step that it makes, and the rate of its first."""

    step: int = 0
    rate: float = 0.0
    before: list[int | None] | None = None  # fingerprints, in a step that is compared
    unmoved: bool = False  # did the step before move nothing?
    over: bool = False


class FallenRates(Witness):
    """Sees optimizers whose learning rate has fallen to less than a thousandth, and move nothing.

    What proves it: all bits of all parameters, before and after each of two steps in a row. It
    looks at steps 16 and 17, 32 and 33, 64 and 65, ..., and sees nothing in between.

    >>> w, step, rates = torch.ones(2, requires_grad=True), Step(), FallenRates()
    >>> with step.made_by(torch.optim.SGD([w], lr=0.1)):
    ...     for _ in range(17):
    ...         w.sum().backward(); rates.before_step(step); step.optimizer.step()
    ...         told = list(rates.after_step(step)); step.optimizer.param_groups[0]["lr"] /= 10
    >>> told[0].findings[0].sentence[:46]
    'its learning rate has fallen from 0.1 to 1e-17'
    """

    def __init__(self):
        self._looked: WeakKeyDictionary[Optimizer, _Looked] = WeakKeyDictionary()

    def before_step(self, step: Step):
        looked = self._looked.setdefault(step.optimizer, _Looked())
        looked.step += 1
        if looked.step == 1:
            looked.rate = _largest_rate(step.optimizer)
        late = max(FIRST, 1 << looked.step.bit_length() - 1)
        turn = looked.step in (late, late + 1) and not looked.over
        fallen = turn and _largest_rate(step.optimizer) < FALLEN * looked.rate
        looked.before = fingerprints(step.parameters) if fallen else None

    def after_step(self, step: Step):
        looked = self._looked.get(step.optimizer)
        if looked is None:  # its step() began before this did
            return
        before, earlier = looked.before, looked.unmoved
        looked.unmoved = before is not None and any(step.sizes)
        looked.unmoved = looked.unmoved and before == fingerprints(step.parameters)
        if looked.unmoved and earlier:
            looked.over = True
            kind, rate = type(step.optimizer).__name__, _largest_rate(step.optimizer)
            found = RATE_HAS_FALLEN.finding(first=looked.rate, rate=rate, step=looked.step)
            places = (("the optimizer was built at", built_at(step.optimizer)),)
            found = found.about(kind, "not trained", places)
            yield Told(f"{kind} does not move anything any more", [found], unless_known=True)


def _largest_rate(optimizer):
    return max((float(group.get("lr", 0.0)) for group in optimizer.param_groups), default=0.0)
