"""What a gradient does not show: Functions of the user, shapes that broadcast, no training."""

from __future__ import annotations

import torch
from torch import nn

from autograd_surprises.doctor.case import Case
from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.places import held_tensors
from autograd_surprises.doctor.report import finding

MEETS = {"sub", "rsub", "subtract", "add", "radd", "mul", "rmul", "multiply", "div", "truediv",
         "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}  # fmt: skip


def about_functions(case: Case) -> list[Finding]:
    """A number that may be the wrong one.

    >>> scores = torch.ones(1, 3, requires_grad=True)
    >>> loss = torch.nn.functional.cross_entropy(scores.softmax(1), torch.tensor([0]))
    >>> explain(loss, {"scores": scores})["loss"].cause
    'double-softmax'
    """
    found, classes = [], {}
    for step in case.backward.ran() if case.backward else ():
        if step.own is not None and not step.own.__module__.startswith("torch."):
            place = case.place(step, "applied at")
            classes.setdefault(step.own.__name__, place)
            if step.changed:
                found.append(finding(step.own.__name__, "wrong", "changed-gradient", place))
        elif step.name.startswith("LogSoftmaxBackward"):
            below = case.backward.steps.get(step.edges[0][0])
            if below is not None and below.operation in ("Softmax", "Sigmoid"):
                found.append(finding("loss", "wrong", "double-softmax", case.place(step)))
    found += [finding(name, "ok", "own-function", place) for name, place in classes.items()]
    for call in case.history.calls if case.history else ():
        if call.shapes and _crossed(call.short_name, *call.shapes):
            _, a, b = call.shapes
            more = f"{a} and {b} gives {tuple(torch.broadcast_shapes(a, b))}"
            names = {"operation": call.short_name, "more": more}
            found.append(finding("loss", "wrong", "broadcast", (("at", call.where),), **names))
    return found


def _crossed(name, one_tracked, a, b):
    """(N, 1) meets (N,), which gives (N, N), and one of the two comes from data.

    (N, 1, k) and (N, k) are often meant to meet, each with each, unless in a loss function.
    """
    sizes = [[n for n in shape if n != 1] for shape in (a, b)]
    longer, shorter = sorted((a, b), key=len, reverse=True)
    suspect = name.endswith("_loss") or longer == (*shorter, 1)
    if not (one_tracked and suspect and name in MEETS and sizes[0] == sizes[1] != []):
        return False
    return torch.broadcast_shapes(a, b).numel() > torch.Size(a).numel()


def not_trained(case: Case, targets: dict, optimizer) -> list[Finding]:
    """Tensors that get a gradient and no update."""
    if case.model is None:
        return []
    mine = dict(case.model.named_parameters())
    known = {id(tensor) for tensor in (*mine.values(), *targets.values())}
    strangers = [leaf for leaf in case.leaves if id(leaf) not in known]
    found = [f for leaf in strangers for f in _stranger(case, leaf)]
    found.sort(key=lambda finding: finding.name)
    if optimizer is None:
        return found
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    missing = [name for name, p in mine.items() if id(p) not in held and p.requires_grad]
    made = {name: case.history and case.history.made_at(mine[name]) for name in missing}
    stale = len(held - {id(p) for p in mine.values()})
    if stale:
        places = (("new ones made at", made[missing[0]]),) if missing else ()
        found.append(
            finding("optimizer", "not trained", "stale-optimizer", places, more=str(stale))
        )
    for name in missing:
        place = (("made at", made[name]),)
        found.append(finding(name, "not trained", "not-in-optimizer", place))
    return found


def _stranger(case, leaf):
    """A leaf of the graph that is not among the model's parameters."""
    made = case.history and case.history.made_at(leaf)
    for name, module in case.model.named_modules():
        for attribute, value in vars(module).items():
            for path, tensor in () if attribute[0] == "_" else held_tensors(value, attribute):
                if tensor is leaf:
                    path = f"{name}.{path}" if name else path
                    return [finding(path, "not trained", "unregistered", (("made at", made),))]
    if isinstance(leaf, nn.Parameter) and id(leaf) not in case.names and made and made.module:
        name = case.name(leaf)
        return [finding(name, "not trained", "new-parameter: in forward", (("made at", made),))]
    return []  # probably of another model
