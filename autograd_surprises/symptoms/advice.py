"""What a gradient does not show: the user's own Functions, shapes that broadcast, no training."""

from __future__ import annotations

import dis
import gc
import inspect
from types import CodeType

import torch
from torch import nn

from autograd_surprises.graph import leaf_of, only_way
from autograd_surprises.recording.places import owner, where_defined
from autograd_surprises.recording.setup_lines import FLAG, built_at, stored_at
from autograd_surprises.recording.stack import held_tensors
from autograd_surprises.symptoms.constant_terms import constant_terms
from autograd_surprises.symptoms.examination import Case
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.judging import at
from autograd_surprises.symptoms.rule import Named
from autograd_surprises.symptoms.training import (
    MADE_IN_FORWARD,
    NOT_IN_OPTIMIZER,
    STALE_OPTIMIZER,
    UNREGISTERED,
    UNREGISTERED_RESULT,
    Strangers,
)
from autograd_surprises.symptoms.wrong import (
    BROADCAST,
    CHANGED_GRADIENT,
    EXPECTED,
    MODULE_BACKWARD,
    MODULE_FLAG,
    OWN_FUNCTION,
    USED_TWICE,
    Meeting,
    probabilities_made_by,
)

REGISTERED = set(vars(nn.Module()))  # attributes that every module has


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
                places = _of_probabilities(case, step)
                found.append(rule.finding(step).about("loss", "wrong", places))
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
    found += _used_twice(case) + _never_called(case) + _flags_of_modules(case)
    return found + constant_terms(case)


def _used_twice(case):
    """Leaves whose gradients add up over several steps."""
    found = []
    for i, leaf in enumerate(case.leaves):
        again = case.history.recorder.reused.used_again(leaf)
        if again is not None:
            places = zip(("backward at", "used at"), again, strict=True)
            found.append(USED_TWICE.finding().about(case.name(leaf, i), "wrong", places))
    return found


def _of_probabilities(case, step):
    """The line of the softmax, unless something else needs its result: then that of the loss."""
    made = case.backward.steps.get(probabilities_made_by(step.node))
    if made is None:
        return at(step)
    places = (*at(made, "probabilities made at"), *at(step))
    return places if len(case.backward.into[made.node, 0]) == 1 else places[::-1]


def _never_called(case):
    """The backward() of the user's modules that gets a gradient or a context, as a Function's."""
    found = []
    for kind in {type(m): None for m in (case.model.modules() if case.model is not None else ())}:
        code = getattr(getattr(kind, "backward", None), "__code__", None)
        if code is not None and owner(code) == "user" and _gets_gradient(code):
            places = (("at", where_defined(code)),)
            told = MODULE_BACKWARD.finding(Named(kind.__name__))
            found.append(told.about(kind.__name__, "wrong", places))
    return found


def _flags_of_modules(case):
    """Modules whose `requires_grad = False` froze nothing. A class may use it for its own ends."""
    found = []
    for name, module in case.model.named_modules() if case.model is not None else ():
        if (
            vars(module).get(FLAG) is False
            and not _reads_flag(type(module))
            and any(case.trains(parameter) for parameter in module.parameters())
        ):
            name = name or type(module).__name__
            places = (("set at", stored_at(module, FLAG)),)
            found.append(MODULE_FLAG.finding(Named(name)).about(name, "wrong", places))
    return found


def _reads_flag(kind):
    """Does the user's own class, or one that it is derived from, read an attribute of this name?"""
    own = [each for each in kind.__mro__ if not each.__module__.startswith("torch.")]
    for member in (member for each in own for member in vars(each).values()):
        function = inspect.unwrap(getattr(member, "fget", member))
        if _code_reads_flag(getattr(function, "__code__", None)):
            return True
    return False


def _code_reads_flag(code):
    """Also in the functions inside it, and with getattr, where the name is a constant."""
    if not isinstance(code, CodeType):
        return False
    loads = (each for each in dis.get_instructions(code) if each.opname.startswith("LOAD_"))
    return any(each.argval == FLAG for each in loads) or any(map(_code_reads_flag, code.co_consts))


def _gets_gradient(code):
    """Not so the inverse of a flow, nor a method that calls loss.backward()."""
    arguments = code.co_varnames[: code.co_argcount]
    return any("grad" in name or name == "ctx" for name in arguments)


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
    by_optimizers, by_modules = holders() if strangers or missing else (set(), set())
    strangers = [leaf for leaf in strangers if id(leaf) not in by_optimizers]
    found = [_stored(case, leaf) or _made_in_forward(case, leaf, by_modules) for leaf in strangers]
    found = [finding for finding in found if finding is not None]
    found.sort(key=lambda finding: finding.name)
    if case.optimizer is None:
        return found
    missing = {name: p for name, p in missing.items() if id(p) not in by_optimizers}
    built = ("the optimizer was built at", built_at(case.optimizer))
    made = {name: case.history.made_at(parameter) for name, parameter in missing.items()}
    stale = case.held - {id(p) for p in (*mine.values(), *case.leaves)} - case.names.keys()
    if missing and stale:
        places = (built, ("new ones made at", made[next(iter(missing))]))
        told = STALE_OPTIMIZER.finding(Strangers(len(stale)))
        found.append(told.about("optimizer", "not trained", places))
    for name in missing:
        places = (built, ("made at", made[name]))
        found.append(NOT_IN_OPTIMIZER.finding().about(name, "not trained", places))
    return found


def holders() -> tuple[set[int], set[int]]:
    """The ids of what living optimizers hold, and of what living modules hold as parameters.

    >>> layer = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD([layer.bias], lr=0.1)
    >>> [(id(p) in by_one, id(p) in by_other) for by_one, by_other in [holders()]
    ...  for p in (layer.weight, layer.bias)]
    [(False, True), (True, True)]
    """
    by_optimizers, by_modules = set(), set()
    for thing in gc.get_objects():  # isinstance() would wake up lazy proxies
        if issubclass(type(thing), torch.optim.Optimizer):
            groups = vars(thing).get("param_groups", ())
            by_optimizers.update(id(p) for group in groups for p in group["params"])
        elif issubclass(type(thing), nn.Module):
            by_modules.update(map(id, vars(thing).get("_parameters", {}).values()))
    return by_optimizers, by_modules


def _moves(case, parameter):
    """Does a gradient that is not 0 arrive at it?"""
    gradient = case.backward.grads.get(id(parameter)) if case.backward else None
    return gradient is not None and bool(gradient.size.nonzero)


def _stored(case, leaf):
    """A leaf that is not a parameter of the model, but is in one of its attributes."""
    made = ("made at", case.history.made_at(leaf))
    for name, module in case.model.named_modules():
        for attribute, value in vars(module).items():
            for path, tensor in () if attribute in REGISTERED else held_tensors(value, attribute):
                if tensor is leaf or _source(tensor) is leaf:
                    rule = UNREGISTERED if tensor is leaf else UNREGISTERED_RESULT
                    path = f"{name}.{path}" if name else path
                    places = ("stored at", stored_at(module, attribute)), made
                    return rule.finding().about(path, "not trained", places)
    return None


def _source(tensor):
    """The one leaf that a non-leaf was computed from."""
    *_, last = None, *only_way(tensor.grad_fn)
    return last and leaf_of(last)


def _made_in_forward(case, leaf, by_modules):
    """A recorded Parameter that no module, no optimizer and no variable of the user holds."""
    made = case.history.made_at(leaf)
    if made is None or not isinstance(leaf, nn.Parameter) or id(leaf) in case.names:
        return None
    if id(leaf) in by_modules:
        return None
    return MADE_IN_FORWARD.finding().about(case.name(leaf), "not trained", (("made at", made),))
