"""What the first steps of all optimizers did, as findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from weakref import WeakKeyDictionary

import torch
from torch.optim import Optimizer

from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.first_steps import FirstSteps
from autograd_surprises.doctor.report import Report
from autograd_surprises.doctor.rules.training import (
    HOLDS_FROZEN,
    NO_LOSS,
    SKIPPED,
    UNMOVED,
    Idle,
)
from autograd_surprises.doctor.setup_lines import built_at
from autograd_surprises.doctor.trained import parameters_of, trained_by


class Updates:
    """Does a loss reach what each optimizer holds, and does a step move it?

    model   the default: the modules that hold the parameters
    missed  reports of the latest losses, which did not reach what these optimizers hold

    >>> w = torch.ones(2, requires_grad=True)
    >>> sgd, updates = torch.optim.SGD([w], lr=0.1), Updates()
    >>> for _ in range(2):
    ...     updates.before(sgd); sgd.step(); found = updates.after(sgd)
    >>> [(finding.status, finding.cause) for finding in found]
    [('none', 'no-loss')]
    """

    def __init__(self, model: torch.nn.Module | None = None):
        self._model = model
        self._first: WeakKeyDictionary[Optimizer, FirstSteps] = WeakKeyDictionary()
        self.missed: WeakKeyDictionary[Optimizer, Report] = WeakKeyDictionary()

    def before(self, optimizer: Optimizer) -> None:
        """Its step() is about to run."""
        self._first.setdefault(optimizer, FirstSteps()).before(optimizer)

    def after(self, optimizer: Optimizer) -> list[Finding]:
        """Its step() is done: the findings, once they are certain."""
        first = self._first.get(optimizer)
        if first is None or first.over:
            return []
        first.after(optimizer)
        return self._findings(optimizer, first) if first.over else []

    def at_the_end(self) -> Iterator[tuple[Optimizer, list[Finding]]]:
        """There will be no more steps: what is not certain."""
        for optimizer, first in list(self._first.items()):
            if not first.over:
                first.over = True
                yield optimizer, self._findings(optimizer, first)

    @property
    def waiting(self) -> list[Optimizer]:
        """Those whose first step moved nothing, since no loss had reached what they hold."""
        return [o for o, first in self._first.items() if first.unreached and not first.over]

    def _findings(self, optimizer, first):
        kind, held = type(optimizer).__name__, parameters_of(optimizer)
        if first.frozen:
            return [HOLDS_FROZEN.finding().about(kind, "not trained")]
        if not first.steps:
            return [SKIPPED.finding().about(kind, "not trained")] if first.skipped else []
        missed = self.missed.pop(optimizer, None)
        if first.unreached:
            found = [f for f in missed.findings if f.status == "none"] if missed else []
            if any(each.alarming for each in found):
                named = {missed.names[id(p)]: p for p in held if id(p) in missed.names}
                return [replace(each, name=called(each.name, named)) for each in found]
            told = NO_LOSS.finding(Idle(kind, first.steps))
            pairs = [(p, told) for p in held if p.requires_grad]
        else:
            pairs = [(p, UNMOVED.first(fact).finding(fact)) for p, fact in first.unmoved(optimizer)]
        if not pairs:
            return []
        model = trained_by(held, None, self._model, optimizer).model
        named = dict(model.named_parameters()) if model is not None else {}
        names = {id(p): name for name, p in named.items()}
        built = (("the optimizer was built at", built_at(optimizer)),)
        status = "none" if first.unreached else "not trained"
        return [told.about(names.get(id(p), without_name(p)), status, built) for p, told in pairs]


def called(name: str, named: dict[str, torch.Tensor]) -> str:
    """A parameter that only an optimizer holds has no name: its groups are joined here."""
    nameless = name.startswith("param_groups[") and name in named
    return without_name(named[name]) if nameless else name


def without_name(parameter: torch.Tensor) -> str:
    """What a parameter is called that has no name."""
    return f"a parameter of shape {tuple(parameter.shape)} that the optimizer holds"
