"""Updates that move nothing: a learning rate has fallen, or 16 bits round them away."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch.optim import Optimizer

from autograd_surprises.doctor.watch.fingerprints import fingerprints
from autograd_surprises.doctor.watch.idle_optimizers import IdleOptimizers, about_each
from autograd_surprises.doctor.watch.witness import Step, Told, Witness
from autograd_surprises.facts.processes import is_spread
from autograd_surprises.recording.setup_lines import built_at
from autograd_surprises.symptoms.untrained import RATE_HAS_FALLEN, UPDATES_LOST

FIRST = 16  # the step from which on to look
FALLEN = 1e-3  # of the learning rate of the first step
STEPS, SAMPLE = 16, 4096  # until updates are judged; elements of each weight
FEWEST = 32  # elements with a gradient, to say anything
MOVED = 0.1  # a smaller share is an alarm


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


class LostUpdates(Witness):
    """Sees weights in float16 or bfloat16 of which few elements move.

    What proves it: a sample of the elements that have a gradient, as they were at first and up to
    16 steps later. It does not look at optimizers that are not torch's: they may round at random,
    or keep what was lost for a later step.
    """

    def __init__(self, idle: IdleOptimizers):
        self._idle = idle
        self._samples: WeakKeyDictionary[Optimizer, _Samples] = WeakKeyDictionary()
        self._so_far: dict[_Samples, Told] = {}  # the optimizer may be gone at the end

    def before_step(self, step: Step):
        samples = self._samples.setdefault(step.optimizer, _Samples())
        if not type(step.optimizer).__module__.startswith("torch.optim"):
            samples.over = True
        elif not samples.over:
            samples.take(step.parameters)

    def after_step(self, step: Step):
        samples = self._samples.get(step.optimizer)
        if samples is None or samples.over:
            return
        judged = samples.look_at_rates(step.optimizer)
        if not samples.steps:
            self._so_far.pop(samples, None)
        if judged:
            still = self._idle.unmoved(step.optimizer)
            few = [(p, f) for p, f in samples.few_moved(step.parameters) if id(p) not in still]
            why = f"{type(step.optimizer).__name__} hardly moves {len(few)} parameters"
            found = about_each(step, few, "not trained")
            self._so_far[samples] = Told(why, found, unless_known=True)
        if samples.over and samples in self._so_far:
            yield self._so_far.pop(samples)

    def at_the_end(self, step: Step):
        return self._so_far.values()


class _Samples:
    """Of the weights of one optimizer.

    steps  how many were seen, since no learning rate has risen
    over   is all decided?
    """

    def __init__(self):
        self.steps, self.over = 0, False
        # By id, a sample of a weight as it was at first, and which elements have had a gradient.
        self._weights: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._rates: dict[int, float] = {}

    def take(self, parameters):
        for parameter in filter(_can_round, parameters):
            if id(parameter) not in self._weights:
                first = _sample(parameter).clone()
                self._weights[id(parameter)] = first, torch.zeros_like(first) != 0
            _, touched = self._weights[id(parameter)]
            touched.logical_or_(_sample(parameter.grad) != 0)

    def look_at_rates(self, optimizer):
        """Is it time to judge? While a learning rate rises, everything begins anew."""
        rates = {id(p): float(g["lr"]) for g in optimizer.param_groups for p in g["params"]}
        self.steps += 1
        if any(rate > self._rates.get(i, rate) for i, rate in rates.items()):
            self.steps, self._weights = 0, {}
        self._rates = rates
        self.over = self.steps == STEPS or (self.steps >= 2 and not self._weights)
        return bool(self._weights) and self.steps in (2, 4, 8, STEPS)

    def few_moved(self, parameters):
        few = {}
        for p in parameters:
            first, touched = self._weights.get(id(p), (None, None))
            if first is not None and self._rates.get(id(p)) and int(touched.sum()) >= FEWEST:
                share = float((_sample(p) != first)[touched].float().mean())
                few |= {p: share} if share < MOVED else {}
        facts = {"steps": self.steps, "share": max(few.values(), default=0.0)}
        for p in few:
            rate, distance = self._rates[id(p)], torch.finfo(p.dtype).eps
            yield p, UPDATES_LOST.finding(p, rate=rate, distance=distance, **facts)


def _can_round(parameter):
    half = parameter.dtype in (torch.float16, torch.bfloat16)
    gradient = parameter.grad if half and not is_spread(parameter) else None
    return gradient is not None and gradient.layout is torch.strided and not parameter.is_meta


def _sample(tensor):
    """Elements spread over a tensor, at most SAMPLE of them."""
    return tensor.detach().flatten()[:: 1 + tensor.numel() // SAMPLE]
