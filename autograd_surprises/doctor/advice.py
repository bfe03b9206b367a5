"""What a gradient does not show: the user's own Functions, shapes that broadcast, no training."""

from __future__ import annotations

import gc

import torch
from torch import nn

from autograd_surprises.doctor.case import Case
from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.judging import at
from autograd_surprises.doctor.places import held_tensors
from autograd_surprises.doctor.rules.training import (
    MADE_IN_FORWARD,
    NOT_IN_OPTIMIZER,
    STALE_OPTIMIZER,
    UNREGISTERED,
    Strangers,
)
from autograd_surprises.doctor.rules.wrong import (
    BROADCAST,
    CHANGED_GRADIENT,
    EXPECTED,
    OWN_FUNCTION,
    Meeting,
)


def probably_wrong(case: Case) -> list[Finding]:
    """Steps and calls whose gradient is probably not the intended one.

    >>> scores = torch.ones(1, 3, requires_grad=True)
    >>> loss = torch.nn.functional.cross_entropy(scores.softmax(1), torch.tensor([0]))
    >>> explain(loss, {"scores": scores})["loss"].cause
    'double-softmax'
    """
    found, own = [], {}
    for step in case.backward.ran() if case.backward else ():
        if CHANGED_GRADIENT.fits(step):
            found.append(
                CHANGED_GRADIENT.finding(step).about(step.own_name, "wrong", at(step, "applied at"))
            )
        for rule in EXPECTED:
            if rule.fits(step):
                found.append(rule.finding(step).about("loss", "wrong", at(step)))
        if OWN_FUNCTION.fits(step):
            own.setdefault(step.own_name, step)
    for name, step in own.items():
        found.append(OWN_FUNCTION.finding(step).about(name, "ok", at(step, "applied at")))
    steps = case.backward.steps.values() if case.backward else ()
    names = {step.node._sequence_nr(): step.name for step in steps}
    for call in [call for call in case.history.calls if call.shapes]:
        meeting = Meeting(call.operation, *call.shapes, case.history.is_loss(call, names))
        if BROADCAST.fits(meeting):
            places = (("at", call.where),)
            found.append(BROADCAST.finding(meeting).about("loss", "wrong", places))
    return found


def not_trained(case: Case, targets: dict) -> list[Finding]:
    """Tensors that get a gradient but no update.

    >>> layer = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD([layer.weight], lr=0.1)
    >>> loss = layer(torch.ones(1, 2)).sum()
    >>> explain(loss, layer, optimizer=optimizer)["bias"].cause
    'not-in-optimizer'
    """
    if case.model is None:
        return []
    mine = dict(case.model.named_parameters())
    known = {id(tensor) for tensor in (*mine.values(), *targets.values())}
    unheld = mine.items() if case.optimizer is not None else ()
    missing = {n: p for n, p in unheld if id(p) not in case.held and _moves(case, p)}
    strangers = [leaf for leaf in case.leaves if id(leaf) not in known | case.held]
    others = held_elsewhere() if strangers or missing else set()
    found = [f for leaf in strangers if id(leaf) not in others for f in _stranger(case, leaf)]
    found.sort(key=lambda finding: finding.name)
    if case.optimizer is None:
        return found
    missing = {name: p for name, p in missing.items() if id(p) not in others}
    made = {name: case.history.made_at(parameter) for name, parameter in missing.items()}
    stale = case.held - {id(p) for p in (*mine.values(), *case.leaves)} - case.names.keys()
    if missing and stale:
        places = (("new ones made at", made[next(iter(missing))]),)
        told = STALE_OPTIMIZER.finding(Strangers(len(stale)))
        found.append(told.about("optimizer", "not trained", places))
    for name in missing:
        places = (("made at", made[name]),)
        found.append(NOT_IN_OPTIMIZER.finding().about(name, "not trained", places))
    return found


def held_elsewhere() -> set[int]:
    """The ids of what any living optimizer holds: a GAN has two.

    >>> layer = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    >>> id(layer.bias) in held_elsewhere()
    True
    """
    optimizers = [o for o in gc.get_objects() if issubclass(type(o), torch.optim.Optimizer)]
    return {id(p) for o in optimizers for group in o.param_groups for p in group["params"]}


def _moves(case, parameter):
    """Does a gradient that is not 0 arrive at it?"""
    gradient = case.backward.grads.get(id(parameter)) if case.backward else None
    return gradient is not None and bool(gradient.amount.nonzero)


def _stranger(case, leaf):
    """A leaf of the graph that is not among the model's parameters."""
    made = case.history.made_at(leaf)
    places = (("made at", made),)
    for name, module in case.model.named_modules():
        for attribute, value in vars(module).items():
            for path, tensor in () if attribute[0] == "_" else held_tensors(value, attribute):
                if tensor is leaf:
                    path = f"{name}.{path}" if name else path
                    return [UNREGISTERED.finding().about(path, "not trained", places)]
    if isinstance(leaf, nn.Parameter) and id(leaf) not in case.names and made and made.module:
        return [MADE_IN_FORWARD.finding().about(case.name(leaf), "not trained", places)]
    return []  # probably belongs to another model
