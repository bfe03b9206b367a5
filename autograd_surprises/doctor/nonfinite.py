"""Where inf and NaN come from: in backward, or in the forward pass already."""

from __future__ import annotations

from dataclasses import replace

import torch

from autograd_surprises.doctor.case import Case, because, first_step, in_and_out
from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.reasons import NOT_FINITE, operation_of, readable, reason_born
from autograd_surprises.doctor.report import finding
from autograd_surprises.doctor.steps import Node, Step


def not_finite(case: Case, name: str, gradient: torch.Tensor, edge: tuple[Node, int]) -> Finding:
    """The finding for a gradient with inf or NaN in it, which arrived along this edge.

    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> explain(x.sqrt().sum(), {"x": x})["x"].cause
    'infinite-slope'
    """
    status = "nan" if bool(gradient.isnan().any()) else "inf"
    count = f"{int((~gradient.isfinite()).sum())} of {gradient.numel()} elements are not finite"
    origins = case.backward.origins(*edge, "not finite")
    step = first_step(origins)
    if step is None and origins and len(origins[0].steps) == 1:
        return finding(name, status, "hook", (), count, more="inf or NaN")
    if step is None:
        adds = "a sum of finite contributions" if origins else "what enters the graph"
        return finding(name, status, "overflow", (), count, operation=adds)
    node, also = f"first not finite in {in_and_out(case, step)}", [count]
    if step.spoiled is not None:
        position, arrived = step.spoiled
        at = f"at element {list(position)}, " if position else ""
        came = "" if arrived is None else f"a gradient of {arrived:g} arrived"
        also.append(f"{at}{came}{_values_at(step, position)}")
    if step.masked and step.kept_finite() and step.own is None:
        names = {"operation": readable(step.operation)}
        return finding(name, status, "masked-too-late", case.place(step), node, also, **names)
    born = born_in_forward(case, name, status)
    if born is not None:
        return replace(born, node=node, also=tuple(also))
    return because(case, name, status, step, NOT_FINITE, node, also)


NAMES = {"self": "input", "other": "second input", "result": "result"}  # torch's names, ours


def _values_at(step, position):
    parts = []
    kept = step.tensors()
    for name, value in sorted(kept.items(), key=lambda pair: pair[0] != "self"):
        fits = value.dim() == len(position) and value.is_floating_point()
        if fits and all(i < n for i, n in zip(position, value.shape, strict=True)):
            parts.append(f"its {NAMES.get(name, name)} was {value[position].item():g}")
    return f" ({', '.join(parts)})" if parts else ""


def born_in_forward(case: Case, name: str, status: str) -> Finding | None:
    """The finding, if inf or NaN came up in the forward pass already."""
    if not case.born:
        case.born.append(_look_for_birth(case))
    return case.born[0] and replace(case.born[0], name=name, status=status)


def _look_for_birth(case):
    made = case.history.spoiled_before(case.loss, case.backward) if case.history else None
    if made is not None:
        return _made_by(operation_of(made.name), (("forward, at", made.where),))
    steps = case.backward.steps if case.backward else {}
    operations = [step for node, step in steps.items() if not hasattr(node, "variable")]
    for step in sorted(operations, key=lambda step: step.node._sequence_nr()):
        bad = [name for name, kept in step.tensors().items() if not bool(kept.isfinite().all())]
        if bad:
            maker = step if bad[0] == "result" else _maker(steps, step)
            if maker is not None:
                return _made_by(maker.operation, case.place(maker, "forward, at"))
            more = ", and no operation that can be checked here gave them: probably the data has " \
                "them, or a parameter, or something overflowed"  # fmt: skip
            return finding("", "nan", "forward-nonfinite", more=more)
    return None


def _made_by(operation, places):
    cause, made, names = reason_born(operation)
    found = finding("", "nan", cause, places, **names)
    return replace(found, sentence=made + found.sentence)


def _maker(steps: dict[Node, Step], step: Step) -> Step | None:
    """The nearest known maker of inf or NaN below, behind steps that keep nothing."""
    below = [steps.get(node) for node, _ in step.edges]
    while below:
        maker = below.pop(0)
        if maker is not None and reason_born(maker.operation)[0] != "forward-nonfinite":
            return maker
        if maker is not None and not maker.tensors():
            below += [steps.get(node) for node, _ in maker.edges]
    return None
