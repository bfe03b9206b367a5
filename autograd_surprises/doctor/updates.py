"""What the first steps of all optimizers did, as findings."""

from dataclasses import replace
from weakref import WeakKeyDictionary

import torch
from torch.optim import Optimizer

from autograd_surprises.doctor.first_steps import FirstSteps
from autograd_surprises.doctor.later_steps import LateSteps, RoundedUpdates
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.trained import parameters_of, trained_by
from autograd_surprises.recording.modules import named_parameters_in
from autograd_surprises.recording.places import Where
from autograd_surprises.recording.setup_lines import built_at
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.untrained import (
    CLEARED,
    HELD_FROZEN,
    HOLDS_FROZEN,
    NO_LOSS,
    SKIPPED,
)

# What the steps of an optimizer did not do, in words, and for each parameter.
Idle = tuple[str, list[Finding]]


class Updates:
    """Does a loss reach what each optimizer holds, and does a step move it?

    model   the default: the modules that hold the parameters
    missed  reports of the latest losses, which did not reach what these optimizers hold
    cleared  where zero_grad() cleared, before the latest step, what these were to use: ids

    >>> w = torch.ones(2, requires_grad=True)
    >>> sgd, updates = torch.optim.SGD([w], lr=0.1), Updates()
    >>> for _ in range(2):
    ...     updates.before(sgd); sgd.step(); idle = updates.after(sgd)
    >>> idle[0], [finding.cause for finding in idle[1]]
    ('no loss reaches what SGD holds', ['no-loss'])
    """

    def __init__(self, model: torch.nn.Module | None = None):
        self._model = model
        self._steps: WeakKeyDictionary[Optimizer, tuple[FirstSteps, RoundedUpdates, LateSteps]]
        self._steps = WeakKeyDictionary()
        # The optimizer may be gone at the end.
        self._so_far: dict[FirstSteps | RoundedUpdates, Idle] = {}
        self.missed: WeakKeyDictionary[Optimizer, Report] = WeakKeyDictionary()
        self.cleared: WeakKeyDictionary[Optimizer, tuple[Where, set[int]]] = WeakKeyDictionary()

    def before(self, optimizer: Optimizer) -> None:
        """Its step() is about to run."""
        if optimizer not in self._steps:
            self._steps[optimizer] = FirstSteps(), RoundedUpdates(), LateSteps()
        for steps in self._steps[optimizer]:
            steps.before(optimizer)

    def after(self, optimizer: Optimizer) -> Idle | None:
        """Its step() is done: what it did not do, once that is certain."""
        if optimizer not in self._steps:  # its step() began before this did
            return None
        first, rounded, late = self._steps[optimizer]
        fallen = late.after(optimizer)
        if fallen is not None:
            kind, places = type(optimizer).__name__, _built(optimizer)
            found = fallen.about(kind, "not trained", places)
            return f"{kind} does not move anything any more", [found]
        judged = rounded.after(optimizer)
        if not rounded.steps:
            self._so_far.pop(rounded, None)
        if judged:
            self._so_far[rounded] = self._hardly_moved(optimizer, first, rounded)
        if rounded.over and self._so_far.get(rounded):
            return self._so_far.pop(rounded)
        if not first.after(optimizer):
            return None
        self._so_far[first] = self._idle(optimizer, first)
        return self._so_far.pop(first) if first.over else None

    def at_the_end(self) -> list[Idle]:
        """What those did not do that made no second step, or whose learning rate still rose."""
        return list(self._so_far.values())

    @property
    def waiting(self) -> list[Optimizer]:
        """Those whose first step moved nothing, since no loss had reached what they hold."""
        each = self._steps.items()
        return [optimizer for optimizer, (first, *_) in each if first.unreached and not first.over]

    @property
    def reached_any(self) -> bool:
        """Has anything that an optimizer holds got a gradient?"""
        return any(first.reached for first, *_ in self._steps.values())

    def may_come(self, parameter: torch.Tensor, steps: int) -> bool:
        """Has the optimizer that holds it made fewer steps than these?"""
        holding = [first for first, *_ in self._steps.values() if id(parameter) in first.held]
        return all(first.steps < steps for first in holding)

    def has_come(self, parameter: torch.Tensor, steps: int) -> bool:
        """Has it got a gradient, in the first steps of an optimizer that holds it?"""
        early = [first for first, *_ in self._steps.values() if first.steps <= steps]
        return any(id(parameter) in first.reached for first in early)

    def _idle(self, optimizer, first):
        findings = self._findings(optimizer, first)
        kind, held = type(optimizer).__name__, parameters_of(optimizer)
        if any(found.rule == CLEARED.id for found in findings):
            return f"the gradients are cleared before {kind}.step()", findings
        if first.unreached:
            return f"no loss reaches what {kind} holds", findings
        alarms = sum(found.alarming for found in findings)
        return f"{kind} does not move {alarms} of {len(held)} parameters", findings

    def _hardly_moved(self, optimizer, first, rounded):
        """Weights in 16 bits of which few elements move."""
        still = {id(parameter) for parameter, _ in first.unmoved(optimizer)}
        few = [(p, found) for p, found in rounded.few_moved(optimizer) if id(p) not in still]
        why = f"{type(optimizer).__name__} hardly moves {len(few)} parameters"
        return why, self._named(optimizer, few, "not trained")

    def _findings(self, optimizer, first):
        kind, held = type(optimizer).__name__, parameters_of(optimizer)
        if first.frozen:
            return [HOLDS_FROZEN.finding().about(kind, "not trained")]
        if not first.steps:
            return [SKIPPED.finding().about(kind, "not trained")] if first.skipped else []
        missed = self.missed.pop(optimizer, None)
        if optimizer in self.cleared:
            where, ids = self.cleared[optimizer]
            pairs = [(p, CLEARED.finding(optimizer=kind)) for p in held if id(p) in ids]
            places = (("cleared at", where),)
            return self._named(optimizer, pairs, "not trained", places)
        if first.unreached:
            found = [f for f in missed.findings if f.status == "none"] if missed else []
            if any(each.alarming for each in found):
                named = {missed.names[id(p)]: p for p in held if id(p) in missed.names}
                return [replace(each, name=called(each.name, named)) for each in found]
            often = "1 step" if first.steps == 1 else f"{first.steps} steps"
            no_loss = NO_LOSS.finding(optimizer=kind, often=often)
            pairs = [(p, no_loss) for p in held if p.requires_grad]
        else:
            pairs = first.unmoved(optimizer)
            frozen = [parameter for parameter in held if not parameter.requires_grad]
            pairs += [(p, HELD_FROZEN.finding(optimizer=kind, count=len(frozen))) for p in frozen]
        return self._named(optimizer, pairs, "none" if first.unreached else "not trained")

    def _named(self, optimizer, pairs, status, places=()):
        if not pairs:
            return []
        model = trained_by(parameters_of(optimizer), None, self._model, optimizer).model
        names: dict[int, str] = {}  # with all names of a tensor that has several
        for name, p in named_parameters_in(model, twice=True) if model is not None else ():
            names[id(p)] = f"{names[id(p)]} = {name}" if id(p) in names else name
        places = (*places, *_built(optimizer))
        return [
            found.about(names.get(id(p), without_name(p)), status, places) for p, found in pairs
        ]


def _built(optimizer):
    return (("the optimizer was built at", built_at(optimizer)),)


def called(name: str, named: dict[str, torch.Tensor]) -> str:
    """A parameter that only an optimizer holds has no name: its groups are joined here."""
    nameless = name.startswith("param_groups[") and name in named
    return without_name(named[name]) if nameless else name


def without_name(parameter: torch.Tensor) -> str:
    """What a parameter is called that has no name."""
    return f"a parameter of shape {tuple(parameter.shape)} that the optimizer holds"
