"""What later steps of an optimizer move: few elements of weights in 16 bits, or nothing at all."""

import torch
from torch.optim import Optimizer

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.first_steps import fingerprints
from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.facts.processes import is_spread
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.untrained import RATE_HAS_FALLEN, UPDATES_LOST

STEPS, SAMPLE = 16, 4096  # until updates are judged; elements of each weight
FEWEST = 32  # elements with a gradient, to say anything
MOVED = 0.1  # a smaller share is an alarm
FALLEN = 1e-3  # of the learning rate of the first step


class RoundedUpdates:
    """Which elements of its weights in float16 or bfloat16 an optimizer of torch's moves.

    steps  how many were seen, since no learning rate has risen
    over   is all decided?

    Other optimizers may round at random, or keep what was lost for a later step.

    >>> RoundedUpdates().few_moved(torch.optim.SGD([torch.ones(1, requires_grad=True)]))
    []
    """

    def __init__(self):
        self.steps, self.over = 0, False
        # By id, a sample of a weight as it was at first, and which elements have had a gradient.
        self._weights: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._rates: dict[int, float] = {}

    def before(self, optimizer: Optimizer) -> None:
        """Its step() is about to run."""
        if self.over:
            return
        if not type(optimizer).__module__.startswith("torch.optim"):
            self.over = True
            return
        for parameter in filter(_can_round, parameters_of(optimizer)):
            if id(parameter) not in self._weights:
                first = _sample(parameter).clone()
                self._weights[id(parameter)] = first, torch.zeros_like(first) != 0
            _, touched = self._weights[id(parameter)]
            touched.logical_or_(_sample(parameter.grad) != 0)

    def after(self, optimizer: Optimizer) -> bool:
        """Its step() is done: is it one of those at which to judge?

        While a learning rate rises, everything begins anew.
        """
        if self.over:
            return False
        rates = {id(p): float(g["lr"]) for g in optimizer.param_groups for p in g["params"]}
        self.steps += 1
        if any(rate > self._rates.get(i, rate) for i, rate in rates.items()):
            self.steps, self._weights = 0, {}
        self._rates = rates
        self.over = self.steps == STEPS or (self.steps >= 2 and not self._weights)
        return bool(self._weights) and self.steps in (2, 4, 8, STEPS)

    def few_moved(self, optimizer: Optimizer) -> list[tuple[torch.Tensor, Finding]]:
        """The weights of which few elements have moved, though they have a gradient."""
        few = {}
        for p in parameters_of(optimizer):
            first, touched = self._weights.get(id(p), (None, None))
            if first is not None and self._rates.get(id(p)) and int(touched.sum()) >= FEWEST:
                share = float((_sample(p) != first)[touched].float().mean())
                few |= {p: share} if share < MOVED else {}
        facts = {"steps": self.steps, "share": max(few.values(), default=0.0)}
        return [
            (
                p,
                UPDATES_LOST.finding(
                    p, rate=self._rates[id(p)], distance=torch.finfo(p.dtype).eps, **facts
                ),
            )
            for p in few
        ]


def _can_round(parameter):
    half = parameter.dtype in (torch.float16, torch.bfloat16)
    gradient = parameter.grad if half and not is_spread(parameter) else None
    return gradient is not None and gradient.layout is torch.strided and not parameter.is_meta


def _sample(tensor):
    """Elements spread over a tensor, at most SAMPLE of them."""
    return tensor.detach().flatten()[:: 1 + tensor.numel() // SAMPLE]


class LateSteps:
    """Does an optimizer still move anything, or has its learning rate fallen too far?

    Looks at two steps in a row: from 16, 32, 64, ... on.

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
        late = max(STEPS, 1 << self._step.bit_length() - 1)
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
