"""The first steps of an optimizer: what got a gradient, and what moved."""

import math
from contextlib import suppress
from types import SimpleNamespace

import torch
from torch.optim import Optimizer

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.trained import parameters_of, waiting_scheduler
from autograd_surprises.doctor.watch.fingerprints import fingerprints
from autograd_surprises.doctor.watch.step import EARLY
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.untrained import UNMOVED


class FirstSteps:
    """What one optimizer's first steps did.

    All bits of each parameter are compared: before step() and after it. What has not moved while
    its learning rate rises is compared again, in steps 4, 8, 16, ...

    steps    how many were seen, without those that a GradScaler skipped
    skipped  did a GradScaler skip one?
    frozen   does it hold nothing that requires a gradient?
    over     is all decided?
    held     ids of what it held in the first two and is not frozen
    reached  ids of that which got a gradient in the first ten, or moved

    >>> first = FirstSteps()
    >>> first.steps, first.over
    (0, False)
    """

    def __init__(self):
        self.steps, self.skipped, self.frozen, self.over = 0, False, False, False
        self.held: set[int] = set()
        self.reached: set[int] = set()
        self._before: dict[int, int] | None = None  # fingerprints by id, in a step that is compared
        self._settled: set[int] = set()  # ids of what has moved, or cannot be compared
        self._rates: dict[int, float | None] = {}  # by id: what has a gradient and has not moved
        self._moves = self._rising = False

    @property
    def unreached(self) -> bool:
        """Did nothing that it holds, and that is not frozen, get a gradient in any step?"""
        return self.steps > 0 and not self.reached and not self.frozen

    def before(self, optimizer: Optimizer) -> None:
        """Its step() is about to run."""
        self._before, step = None, self.steps + 1
        if self.held - self.reached and step <= EARLY:
            self._see_gradients(parameters_of(optimizer))
        if self.over or (step > 2 and step & (step - 1)):
            return
        held = [p for p in parameters_of(optimizer) if p.requires_grad]
        self.frozen, self.held = not held, {id(p) for p in held}
        self._see_gradients(held)
        held = [p for p in held if id(p) not in self._settled and p.numel()]
        found = {id(p): bits for p, bits in zip(held, fingerprints(held), strict=True)}
        unknown = {i for i, bits in found.items() if bits is None}
        self._settle(unknown)
        self._before = {i: found[i] for i in found.keys() - unknown}

    def after(self, optimizer: Optimizer) -> bool:
        """Its step() is done: was it one of those that are compared?"""
        before, self._before = self._before, None
        if before is None:
            self.steps += 1
            return False
        if _was_skipped(optimizer):
            self.skipped = True
            return True
        self.steps += 1
        held = [p for p in parameters_of(optimizer) if id(p) in before]
        self._see_gradients(held)
        still = [
            p for p, bits in zip(held, fingerprints(held), strict=True) if bits == before[id(p)]
        ]
        self._settle(before.keys() - {id(p) for p in still})
        rates = {id(p): _rate(group) for group in optimizer.param_groups for p in group["params"]}
        with torch.no_grad():
            found = zip(still, norms(still), strict=True)
        now = {id(p): rates[id(p)] for p, norm in found if norm and math.isfinite(norm)}
        self._rising = any((rate or 0.0) > (self._rates.get(i) or 0.0) for i, rate in now.items())
        self._rates |= now
        self.over = not still or (self.steps >= 2 and not self._rising)
        return True

    def unmoved(self, optimizer: Optimizer) -> list[tuple[torch.Tensor, Finding]]:
        """What has a gradient other than 0, and of which no element has changed."""
        still = [p for p in parameters_of(optimizer) if id(p) in self._rates]
        waiting, found = waiting_scheduler(optimizer) if still else "", []
        for p in still:
            rate, half = self._rates[id(p)], p.dtype in (torch.float16, torch.bfloat16)
            # In float32 that may be as it should be: the gradient of a bias before a batch norm is
            # 0 but for rounding errors.
            if not half and rate != 0 and self._moves:
                continue
            facts = SimpleNamespace(
                steps=self.steps,
                rate=rate,
                known_rate="" if rate is None else f" of {rate:g}",
                dtype=p.dtype,
                half=half,
                distance=torch.finfo(p.dtype).eps,
                others=self._moves,  # do others move that this optimizer holds?
                early=self.steps < 2 or self._rising,  # may a later step move it?
                waiting=waiting,
            )
            found.append((p, UNMOVED.first(facts).finding(facts)))
        return found

    def _see_gradients(self, parameters):
        self.reached |= {id(p) for p in parameters if p.grad is not None}

    def _settle(self, ids):
        self._settled |= ids
        self.reached |= ids
        self._moves = self._moves or bool(ids)
        self._rates = {i: rate for i, rate in self._rates.items() if i not in ids}


def _was_skipped(optimizer):
    """A fused optimizer with a GradScaler skips a step by itself."""
    found = getattr(optimizer, "found_inf", None)
    return isinstance(found, torch.Tensor) and bool(found.any())


def _rate(group):
    """The learning rate of a group of parameters; None if it has none that is a number."""
    with suppress(Exception):
        return float(group["lr"])
    return None
