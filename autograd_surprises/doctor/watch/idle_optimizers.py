"""Optimizers whose first steps did nothing, or that make none."""

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from weakref import WeakKeyDictionary

import torch
from torch.optim import Optimizer

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.trained import parameters_of, trained_by, waiting_scheduler
from autograd_surprises.doctor.watch.fingerprints import fingerprints
from autograd_surprises.doctor.watch.witness import EARLY, Step, Told, Witness, ids_of
from autograd_surprises.recording.modules import named_parameters_in
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.recording.setup_lines import built_at
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.untrained import (
    CLEARED,
    HELD_FROZEN,
    HOLDS_FROZEN,
    NO_LOSS,
    NO_STEP,
    SKIPPED,
    UNMOVED,
)


class IdleOptimizers(Witness):
    """Sees what the first two steps of an optimizer did not reach, or did not move.

    What proves it: the .grad of all that it holds, and all bits of that before and after each step.
    Whether that is meant cannot be seen, so a learning rate that rises has more time. Without any
    step: gradients were cleared twice, and no bit of what had them has changed in the end.

    missed  reports of the latest losses, which did not reach what these optimizers hold

    >>> w, step, idle = torch.ones(2, requires_grad=True), Step(), IdleOptimizers()
    >>> with step.made_by(torch.optim.SGD([w], lr=0.1)):
    ...     for _ in range(2):
    ...         idle.before_step(step); step.optimizer.step(); told = list(idle.after_step(step))
    >>> told[0].why, [finding.cause for finding in told[0].findings]
    ('no loss reaches what SGD holds', ['no-loss'])
    """

    def __init__(self):
        self._first: WeakKeyDictionary[Optimizer, FirstSteps] = WeakKeyDictionary()
        self._so_far: dict[FirstSteps, Told] = {}  # the optimizer may be gone at the end
        self.missed: WeakKeyDictionary[Optimizer, Report] = WeakKeyDictionary()
        self._cleared: tuple[Where, set[int]] | None = None  # since backward(): where, ids of what
        # The same, if these were to use that in their latest step.
        self._unused: WeakKeyDictionary[Optimizer, tuple[Where, set[int]]] = WeakKeyDictionary()
        self._cleared_at: list[Where | None] = []  # before a step
        self._before: dict[torch.Tensor, int | None] = {}  # fingerprints of what was cleared first

    def after_forward(self, step: Step, frame):
        self._cleared = None

    def before_clearing(self, step: Step, owner, frame):
        had = step.cleared(owner)
        if had:
            self._cleared = where_from(frame), ids_of(had)
            self._cleared_at.append(self._cleared[0])
        if had and step.stepless and not self._before:
            self._before = dict(zip(had, fingerprints(had), strict=True))

    def before_step(self, step: Step):
        self._first.setdefault(step.optimizer, FirstSteps()).before(step.optimizer)

    def after_step(self, step: Step):
        cleared, first = self._cleared, self._first.get(step.optimizer)
        if cleared is None or cleared[1].isdisjoint(step.ids) or any(step.sizes):
            self._unused.pop(step.optimizer, None)
        else:
            self._unused[step.optimizer] = cleared
        if first is not None and first.after(step.optimizer):  # None: step() began before this did
            self._so_far[first] = self._idle(step, first)
            if first.over:
                yield self._so_far.pop(first)

    def at_the_end(self, step: Step):
        """What those did not do that made no second step, or whose learning rate still rose."""
        yield from self._so_far.values()
        # A GradScaler skips steps, and the gradient of an input may be what is wanted.
        if step.stepless and not (step.scaled or step.inputs) and len(self._cleared_at) > 1:
            yield from self._no_step(step)

    def _no_step(self, step):
        held, before = list(self._before), list(self._before.values())
        if None not in before and fingerprints(held) == before:
            found = NO_STEP.finding(times=len(self._cleared_at))
            places = (("cleared at", self._cleared_at[-1]),)
            names = step.named(range(len(held)), held)
            yield Told("no step was made", [found.about(names, "not trained", places)])

    @property
    def waiting(self) -> list[Optimizer]:
        """Those whose first step moved nothing, since no loss had reached what they hold."""
        each = self._first.items()
        return [optimizer for optimizer, first in each if first.unreached and not first.over]

    @property
    def reached_any(self) -> bool:
        """Has anything that an optimizer holds got a gradient?"""
        return any(first.reached for first in self._first.values())

    def may_come(self, parameter: torch.Tensor, steps: int) -> bool:
        """Has the optimizer that holds it made fewer steps than these?"""
        holding = [first for first in self._first.values() if id(parameter) in first.held]
        return all(first.steps < steps for first in holding)

    def has_come(self, parameter: torch.Tensor, steps: int) -> bool:
        """Has it got a gradient, in the first steps of an optimizer that holds it?"""
        early = [first for first in self._first.values() if first.steps <= steps]
        return any(id(parameter) in first.reached for first in early)

    def unmoved(self, optimizer: Optimizer) -> set[int]:
        """The ids of what has a gradient, and of which no element has changed."""
        return {id(parameter) for parameter, _ in self._first[optimizer].unmoved(optimizer)}

    def _idle(self, step: Step, first):
        kind, findings = type(step.optimizer).__name__, self._findings(step, first)
        alarms = sum(found.alarming for found in findings)
        why = f"{kind} does not move {alarms} of {len(step.parameters)} parameters"
        if any(found.rule == CLEARED.id for found in findings):
            why = f"the gradients are cleared before {kind}.step()"
        elif first.unreached:
            why = f"no loss reaches what {kind} holds"
        return Told(why, findings, unless_known=True)

    def _findings(self, step: Step, first):
        kind, held = type(step.optimizer).__name__, step.parameters
        if first.frozen:
            return [HOLDS_FROZEN.finding().about(kind, "not trained")]
        if not first.steps:
            return [SKIPPED.finding().about(kind, "not trained")] if first.skipped else []
        missed = self.missed.pop(step.optimizer, None)
        if step.optimizer in self._unused:
            where, ids = self._unused[step.optimizer]
            pairs = [(p, CLEARED.finding(optimizer=kind)) for p in held if id(p) in ids]
            return about_each(step, pairs, "not trained", (("cleared at", where),))
        if first.unreached:
            found = [f for f in missed.findings if f.status == "none"] if missed else []
            if any(each.alarming for each in found):
                named = {missed.names[id(p)]: p for p in held if id(p) in missed.names}
                return [replace(each, name=called(each.name, named)) for each in found]
            often = "1 step" if first.steps == 1 else f"{first.steps} steps"
            no_loss = NO_LOSS.finding(optimizer=kind, often=often)
            return about_each(step, [(p, no_loss) for p in held if p.requires_grad], "none")
        frozen = [parameter for parameter in held if not parameter.requires_grad]
        held_frozen = HELD_FROZEN.finding(optimizer=kind, count=len(frozen))
        pairs = [*first.unmoved(step.optimizer), *((p, held_frozen) for p in frozen)]
        return about_each(step, pairs, "not trained")


def about_each(
    step: Step,
    pairs: Iterable[tuple[torch.Tensor, Finding]],
    status: str,
    places: tuple[tuple[str, Where], ...] = (),
) -> list[Finding]:
    """Each of these findings about its parameter, and where the optimizer was built."""
    if not pairs:
        return []
    model = trained_by(step.parameters, None, step.model, step.optimizer).model
    names: dict[int, str] = {}  # with all names of a tensor that has several
    for name, p in named_parameters_in(model, twice=True) if model is not None else ():
        names[id(p)] = f"{names[id(p)]} = {name}" if id(p) in names else name
    places = (*places, ("the optimizer was built at", built_at(step.optimizer)))
    return [found.about(names.get(id(p), _without_name(p)), status, places) for p, found in pairs]


def called(name: str, named: dict[str, torch.Tensor]) -> str:
    """A parameter that only an optimizer holds has no name: its groups are joined here."""
    nameless = name.startswith("param_groups[") and name in named
    return _without_name(named[name]) if nameless else name


def _without_name(parameter):
    return f"a parameter of shape {tuple(parameter.shape)} that the optimizer holds"


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
