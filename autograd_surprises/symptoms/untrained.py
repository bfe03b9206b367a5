"""A tensor gets a gradient, but no optimizer updates it; or an optimizer makes steps in vain."""

import torch
from torch import nn

from autograd_surprises.facts.graph import leaf_of, only_way
from autograd_surprises.recording.modules import living, named_parameters_in
from autograd_surprises.recording.setup_lines import built_at, stored_at
from autograd_surprises.recording.stack import held_tensors
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.rule import Rule, Rulebook

REGISTERED = set(vars(nn.Module()))  # attributes that every module has

UNREGISTERED = Rule(
    "unregistered/attribute",
    "it gets a gradient but is not in model.parameters(), so no optimizer updates it: nn.Module "
    "does not look into plain lists, dicts and attributes",
    "use nn.ParameterList or nn.ModuleList, or self.w = nn.Parameter(...), in __init__",
    "untrained.list",
)

UNREGISTERED_RESULT = Rule(
    "unregistered/result",
    "it is a non-leaf, computed from a tensor that is not in model.parameters(): the gradient goes "
    "to that tensor, and no optimizer updates it",
    "register the result, nn.Parameter(p.to(device)), or register p and move the whole module",
    "parameter.fails",
)

MADE_IN_FORWARD = Rule(
    "new-parameter/in-forward",
    "it gets a gradient but is not in model.parameters(), so no optimizer updates it: probably "
    "each forward makes a new one",
    "create the Parameter once, in __init__",
    "parameter.fails",
)

STALE_OPTIMIZER = Rule(
    "stale-optimizer",
    "it holds {count} tensors that are not parameters of the model: probably they were replaced "
    "after it was built",
    "build the optimizer last, from model.parameters()",
    "untrained.later",
)

NOT_IN_OPTIMIZER = Rule(
    "not-in-optimizer/parameter",
    "it is a parameter of the model, but the optimizer does not hold it",
    "build the optimizer when the model is complete, and pass it every parameter",
    "untrained.later",
)

NO_LOSS = Rule(
    "no-loss",
    "no backward() has given it a gradient, and {optimizer} has made {often}",
    "compute the loss from the parameters that this optimizer holds: not from detached tensors, "
    "and not from a copy of the module made after the optimizer",
    "none",
)

HOLDS_FROZEN = Rule(
    "frozen/optimizer",
    "in its first step, it held only parameters that were frozen",
    "do nothing if that is how you freeze them",
    alarm=False,
)

ALL_FROZEN = Rule(
    "frozen/all",
    "{optimizer} holds {count} parameters, and none of them requires a gradient: all are frozen",
    "call .requires_grad_() on what is to be trained; with PEFT, use inference_mode=False, or "
    "is_trainable=True when you load an adapter",
    "none.frozen",
)

CLEARED = Rule(
    "cleared-gradient",
    "backward() gave it a gradient, and zero_grad() cleared that before {optimizer} made its step",
    "call zero_grad() before backward(), or after step()",
    "wrong.accumulated",
)

NO_STEP = Rule(
    "no-step",
    "zero_grad() cleared its gradients {times} times, no optimizer made a step, and its numbers "
    "have not changed",
    "call optimizer.step() after backward(), with the parentheses",
)

HELD_FROZEN = Rule(
    "frozen/held",
    "frozen, though {optimizer} holds {count} such parameters",
    "do nothing if you froze it on purpose; a tensor with two names is frozen under both",
    alarm=False,
)

SKIPPED = Rule(
    "skipped-steps",
    "a GradScaler skipped each of its steps, since a gradient was inf or NaN",
    "watch more steps: the scaler halves its scale each time",
    "half.skipped",
    alarm=False,
)


# No step has moved it.
UNMOVED = Rulebook()

UNMOVED.add(
    "early",
    "no step has moved it so far, with a learning rate{known_rate}, which may still rise",
    "watch more steps",
    when=lambda facts: facts.early,
    alarm=False,
)

UNMOVED.add(
    "learning-rate/one-group",
    "its learning rate is 0, and other parameters of this optimizer move",
    "do nothing if that is how you freeze it",
    when=lambda facts: facts.rate == 0 and facts.others,
    alarm=False,
)

UNMOVED.add(
    "learning-rate/no-step",
    "the learning rate is 0, and {waiting}, which sets it, has made no step: none of its elements "
    "changed in {steps} steps of the optimizer",
    "call scheduler.step() after each optimizer.step()",
    when=lambda facts: facts.rate == 0 and facts.waiting != "",
)

UNMOVED.add(
    "learning-rate/all",
    "the learning rate is 0: none of its elements changed in {steps} steps of the optimizer",
    "set lr, or look at what the scheduler makes of it",
    when=lambda facts: facts.rate == 0,
)

UNMOVED.add(
    "lost-update/half",
    "its gradient is not 0, but none of its elements changed in {steps} steps of the optimizer: "
    "probably each update, with a learning rate{known_rate}, is too small for {dtype}, whose "
    "numbers near 1 are {distance:.2g} apart, and is rounded away",
    "keep the weights in float32 and compute with torch.autocast, or use a larger learning rate",
    "half.bfloat16",
    when=lambda facts: facts.half,
)

UNMOVED.add(
    "lost-update/single",
    "its gradient is not 0, but none of its elements changed in {steps} steps of the optimizer: "
    "probably each update, with a learning rate{known_rate}, is too small for {dtype} and is "
    "rounded away",
    "use a larger learning rate, or look for what makes the gradient so small",
)

RATE_HAS_FALLEN = Rule(
    "learning-rate/fallen",
    "its learning rate has fallen from {first:g} to {rate:.1g}: step {step} and the one before "
    "changed no parameter at all",
    "look at the scheduler: is its step() called for each batch, though it counts epochs?",
)

UPDATES_LOST = Rule(
    "lost-update/partly",
    "in {steps} steps, at most {share:.2%} of its elements that have a gradient changed: an update "
    "with a learning rate of {rate:g} is too small for {dtype}, whose numbers near 1 are "
    "{distance:.2g} apart, and is rounded away",
    "keep the weights in float32 and compute with torch.autocast, or use a larger learning rate",
    "half.bfloat16",
)


def not_trained(exam: Examination, targets: dict) -> list[Finding]:
    """Tensors that get a gradient but no update.

    >>> layer = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD([layer.weight], lr=0.1)
    >>> loss = layer(torch.ones(1, 2)).sum()
    >>> explain(loss, layer, optimizer=optimizer)["bias"].cause
    'not-in-optimizer'
    """
    if exam.model is None:
        return []
    mine = dict(named_parameters_in(exam.model))
    known = {id(tensor) for tensor in (*mine.values(), *targets.values())} | exam.held
    unheld = mine.items() if exam.optimizer is not None else ()
    missing = {n: p for n, p in unheld if id(p) not in exam.held and exam.reaches(p)}
    strangers = [x for x in exam.leaves if id(x) not in known and not _is_data(exam, x)]
    stored = _stored(exam, strangers)
    found = {id(leaf): stored.get(id(leaf)) or _made_in_forward(exam, leaf) for leaf in strangers}
    found = {key: finding for key, finding in found.items() if finding is not None}
    by_optimizers, by_modules = _holders() if found or missing else (set(), set())
    found = [
        finding
        for key, finding in found.items()
        if key not in by_optimizers and (key in stored or key not in by_modules)
    ]
    found.sort(key=lambda finding: finding.name)
    if exam.optimizer is None:
        return found
    missing = {name: p for name, p in missing.items() if id(p) not in by_optimizers}
    built = ("the optimizer was built at", built_at(exam.optimizer))
    made = {name: exam.history.made_at(parameter) for name, parameter in missing.items()}
    stale = exam.held - {id(p) for p in (*mine.values(), *exam.leaves)} - exam.names.keys()
    if missing and stale:
        places = (built, ("new ones made at", made[next(iter(missing))]))
        finding = STALE_OPTIMIZER.finding(count=len(stale))
        found.append(finding.about("optimizer", "not trained", places))
    for name in missing:
        places = (built, ("made at", made[name]))
        found.append(NOT_IN_OPTIMIZER.finding().about(name, "not trained", places))
    return found


def _holders():
    """The ids of what living optimizers hold, and of what living modules hold as parameters."""
    by_optimizers, by_modules = set(), set()
    optimizers, modules = living(torch.optim.Optimizer, nn.Module)
    for optimizer in optimizers:
        groups = vars(optimizer).get("param_groups", ())
        by_optimizers.update(id(p) for group in groups for p in group["params"])
    for module in modules:
        by_modules.update(map(id, vars(module).get("_parameters", {}).values()))
    return by_optimizers, by_modules


def _is_data(exam, leaf):
    """Does it require a gradient for torch.autograd.grad(), as the points of a physical loss do?"""
    states = exam.history.recorder.states(leaf)
    calls = (call for state in states for call in exam.history.users.get(state, ()))
    return not isinstance(leaf, nn.Parameter) and any(call.name == "grad" for call in calls)


def _stored(exam, leaves):
    """Those of these leaves that attributes of the model hold: what to say of each, by id."""
    found, wanted = {}, {id(leaf) for leaf in leaves}
    for name, module in exam.model.named_modules() if wanted else ():
        for attribute, value in vars(module).items():
            for path, tensor in () if attribute in REGISTERED else held_tensors(value, attribute):
                rule = UNREGISTERED if id(tensor) in wanted else UNREGISTERED_RESULT
                leaf = tensor if id(tensor) in wanted else _source(tensor)
                if id(leaf) in wanted:
                    wanted.remove(id(leaf))
                    path = f"{name}.{path}" if name else path
                    made = ("made at", exam.history.made_at(leaf))
                    places = ("stored at", stored_at(module, attribute)), made
                    found[id(leaf)] = rule.finding().about(path, "not trained", places)
    return found


def _source(tensor):
    """The one leaf that a non-leaf was computed from."""
    *_, last = None, *only_way(tensor.grad_fn)
    return last and leaf_of(last)


def _made_in_forward(exam, leaf):
    """A Parameter that was made in the forward pass, and that no variable holds.

    A copy that no module makes, as for an inner loop, may have its own optimizer.
    """
    made = exam.history.made_at(leaf)
    if not (made and isinstance(leaf, nn.Parameter)) or id(leaf) in exam.names:
        return None
    behind = exam.history.values_behind(exam.history.recorder.states(leaf))
    if not made.kind and any(behind & call.lost.keys() for call in exam.history.calls):
        return None
    return MADE_IN_FORWARD.finding().about(exam.name(leaf), "not trained", (("made at", made),))
