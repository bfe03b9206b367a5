"""Do later steps of an optimizer still move anything, or has its learning rate fallen too far?"""

from torch.optim import Optimizer

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.first_steps import fingerprints
from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.untrained import RATE_HAS_FALLEN

FIRST = 16  # the first step that is looked at; then 32, 64, ..., and each time the one that follows
FALLEN = 1e-3  # of the learning rate of the first step


class LateSteps:
    """Looks at two steps in a row, now and then.

    >>> w = torch.ones(2, requires_grad=True)
    >>> sgd, late = torch.optim.SGD([w], lr=0.1), LateSteps()
    >>> for step in range(17):
    ...     w.sum().backward(); late.before(sgd); sgd.step(); fallen = late.after(sgd)
    ...     sgd.param_groups[0]["lr"] /= 10
    >>> fallen.sentence[:46]
    'its learning rate has fallen from 0.1 to 1e-17'
    """

    def __init__(self):
        self._step, self._rate, self._over = 0, 0.0, False
        self._before: list | None = None
        self._unmoved = False  # did the step before move nothing?

    def before(self, optimizer: Optimizer) -> None:
        """Its step() is about to run."""
        self._step += 1
        if self._step == 1:
            self._rate = _largest_rate(optimizer)
        late = max(FIRST, 1 << self._step.bit_length() - 1)
        turn = self._step in (late, late + 1) and not self._over
        fallen = turn and _largest_rate(optimizer) < FALLEN * self._rate
        self._before = fingerprints(parameters_of(optimizer)) if fallen else None

    def after(self, optimizer: Optimizer) -> Finding | None:
        """Its step() is done: what is known, if this one and the one before moved nothing."""
        before, unmoved = self._before, False
        if before is not None:
            held = parameters_of(optimizer)
            unmoved = any(norms(held)) and before == fingerprints(held)
        again, self._unmoved = unmoved and self._unmoved, unmoved
        self._over = self._over or again
        facts = {"first": self._rate, "rate": _largest_rate(optimizer), "step": self._step}
        return RATE_HAS_FALLEN.finding(**facts) if again else None


def _largest_rate(optimizer):
    return max((float(group.get("lr", 0.0)) for group in optimizer.param_groups), default=0.0)
