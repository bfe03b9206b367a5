"""The first inf or NaN of the forward pass: which operation made it, or which data have it."""

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace

import torch

from autograd_surprises.backward.steps import BackwardStep, memory
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.facts.graph import readable
from autograd_surprises.facts.operations import is_one_of, kind_made_by, traits_of
from autograd_surprises.recording.history import History
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.flat_rules import all_targets_ignored
from autograd_surprises.symptoms.forward_rules import (
    FORWARD,
    MASKED_DATA,
    NAN_DATA,
    UNKNOWN_OPERATION,
    UNKNOWN_ORIGIN,
    ctc_lengths,
)

RESULTS = {"result", "output", "result0"}  # torch's names for the results that a node saves
NOT_VALUES = {"result1"}  # of ctc_loss: -inf is normal there


def first_nonfinite(
    loss: torch.Tensor,
    backward: Backward | None,
    history: History,
    held: Iterable[tuple[str, torch.Tensor]] = (),
) -> Finding | None:
    """The finding, if inf or NaN appeared in the forward pass.

    held  the names of the user's tensors, and the tensors

    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> loss = (x.log() * x).sum()
    >>> first_nonfinite(loss, Backward(loss.grad_fn), History()).cause
    'infinite-derivative'
    """
    call = history.spoiled_before(loss, backward)
    steps = backward.steps if backward else {}
    if call is not None:
        own = (step for step in steps.values() if step.leaf is None)
        own = (step for step in own if history.call_of(step.node) is call)
        proven = next((step for step in own if _is_mean_of_ignored(step)), None)
        kind = proven.kind if proven else kind_made_by(call.name)
        return _finding(_origin(kind, proven, proven is not None, finite=True), call.where)
    operations = [step for step in steps.values() if step.leaf is None]
    operations.sort(key=lambda step: step.node._sequence_nr())
    for is_bad in (_is_bad, _is_infinite):  # -inf is what masks are made of: searched last
        met = (_made_at(steps, step, is_bad, held) for step in operations)
        found = next(filter(None, met), None)
        if found is not None and found.cause != UNKNOWN_ORIGIN.cause:
            return found
        if found is not None or not bool(loss.isfinite().all()):
            data = _bad_data(loss, backward, history, held)
            masked = next((step for step in operations if _masks_nan(steps, step)), None)
            if data is not None and masked is not None:
                places = (("multiplied by 0 at", masked.where), *data.places)
                return MASKED_DATA.finding().about("", "", places)
            quotient = next((step for step in operations if _divides_by_0(step)), None)
            if data is None and quotient is not None:
                found = _finding(_origin(quotient.kind, quotient), quotient.where)
            if data or found:
                return data or found
    return None


def _is_bad(tensor):
    """Does it hold NaN or +inf? A logarithm of 0, and a mask, hold -inf."""
    return bool((tensor.isnan() | (tensor == torch.inf)).any())


def _is_infinite(tensor):
    return not bool(tensor.isfinite().all())


def _made_at(steps, step, is_bad, held):
    """The finding, if this step made inf or NaN, or keeps what one below it made."""
    if _makes_nan(step, _operands(steps, step)):
        makers = [steps.get(node) for node, _ in step.edges]
        edges = [
            m for m in makers if m is not None and traits_of(m.kind).edge
        ]  # that made the infinity
        made = _origin(edges[0].kind if edges else step.kind, step, proven=True)
        return _finding(made, (edges[0] if edges else step).where)
    values = {k: v for k, v in step.tensors().items() if k not in NOT_VALUES}
    bad = [name for name, kept in values.items() if is_bad(kept)]
    if not bad:
        return None
    constant = next((values[n] for n in bad if n not in RESULTS and _is_constant(values[n])), None)
    if constant is not None and len(bad) == 1:
        name = next((name for name, tensor in held if memory(tensor) == memory(constant)), "")
        return _data(name or f"a constant of {step.operation}", constant, ("used at", step.where))
    maker = step if RESULTS.intersection(bad) else _maker(steps, step)
    if maker is None:
        return UNKNOWN_ORIGIN.finding()
    kept = maker.tensors().get("self")  # else inf or NaN may only have come through it
    finite = kept is not None and bool(kept.isfinite().all())
    found = _finding(_origin(maker.kind, maker, finite=finite), maker.where)
    if finite or "probably" in found.sentence:
        return found
    return replace(found, sentence=f"probably {found.sentence}")


def _masks_nan(steps, step):
    """Does it multiply by a constant that is 0 wherever the step below keeps NaN?"""
    below = steps.get(step.edges[0][0]) if step.kind == "Mul" else None
    mask, values = step.tensors().get("other"), below and below.tensors().get("self")
    if mask is None or values is None or mask.requires_grad or mask.shape != values.shape:
        return False
    bad = values.isnan()
    return bool(bad.any()) and not bool(mask[bad].any())


def _is_constant(tensor):
    return not tensor.requires_grad and tensor.is_floating_point()


def _operands(steps, step):
    """Both factors or operands of a step: what it keeps, else the result that was kept below."""
    kept = step.tensors()
    below = [steps.get(node) for node, _ in step.edges]
    found = []
    for k, name in enumerate(("self", "other")):
        value = kept.get(name)
        if value is None and k < len(below) and below[k] is not None:
            value = below[k].tensors().get("result")
        found.append(value)
    return found


def _finding(made, where):
    return FORWARD.first(made).finding(made).about("", "", (("forward, at", where),))


def _maker(steps, step):
    """The nearest known maker of inf or NaN below; steps that save nothing are skipped."""
    below = [steps.get(node) for node, _ in step.edges]
    while below:
        maker = below.pop(0)
        if maker is not None and FORWARD.first(_origin(maker.kind, maker)) is not UNKNOWN_OPERATION:
            return maker
        if maker is not None and not maker.tensors():
            below += [steps.get(node) for node, _ in maker.edges]
    return None


def _bad_data(loss, backward, history, held):
    """The finding, if data hold NaN: data that the loss was computed from, or may have been."""
    names = {id(tensor): name for name, tensor in held}
    if history.calls:
        behind = history.behind(loss, backward)
        states = [(history.recorder.states(t), t) for t in history.recorder.alive()]
        used = sorted((s[0], t) for s, t in states if s and s[-1] in behind and _is_data(t))
        for _, tensor in used:
            name = names.get(id(tensor), f"a tensor of shape {tuple(tensor.shape)}")
            made = history.written_at(tensor) or history.made_at(tensor)
            uses = history.uses(tensor)
            return _data(
                name, tensor, ("made at", made), ("used at", uses[0].where if uses else None)
            )
        return None
    suspects = [(name, tensor) for name, tensor in held if _is_data(tensor) and tensor is not loss]
    for name, tensor in suspects[:1]:
        found = _data(name, tensor)
        return replace(found, sentence=f"probably this: {found.sentence}")
    return None


def _is_data(tensor):
    dense = tensor.layout is torch.strided and not tensor.is_meta
    return dense and _is_constant(tensor) and tensor.numel() and bool(tensor.isnan().any())


def _data(name, tensor, *places):
    bad = f"{int((~tensor.isfinite()).sum())} of {tensor.numel()}"
    return NAN_DATA.finding(name=name, bad=bad).about("", "", places)


def _origin(kind, step=None, proven=False, finite=False):
    """The first inf or NaN of the forward pass, and the kind of operation that made it.

    step    of backward, if the search in the graph found it
    proven  do the values that this step keeps show that it made them?
    finite  are the numbers that entered it known to be finite?
    """
    operation = readable(kind)
    return SimpleNamespace(kind=kind, operation=operation, step=step, proven=proven, finite=finite)


def _is_too_short(step: BackwardStep) -> bool:
    """Is a target of a CTC loss longer than its input, and not ignored?"""
    if step.kind != "CtcLoss" or step.saved.get("zero_infinity"):
        return False
    return any(needed > have for have, _, needed in ctc_lengths(step))


def _multiplies_zero_by_infinity(factors: list[torch.Tensor | None]) -> bool:
    one, other = factors
    if one is None or other is None or not (one.isinf().any() or other.isinf().any()):
        return False
    try:
        product = one * other
    except RuntimeError:  # what was kept below has another shape
        return False
    return bool((product.isnan() & ~one.isnan() & ~other.isnan()).any())


def _makes_nan(step: BackwardStep, operands: list[torch.Tensor | None]) -> bool:
    """Do the values that a step keeps prove that it made inf or NaN of others?"""
    if step.kind == "Mul":
        return _multiplies_zero_by_infinity(operands)
    if step.kind == "WeightNormInterface":
        return not bool(step.saved["result1"].all())
    return _is_too_short(step) or _is_mean_of_ignored(step)


def _is_mean_of_ignored(step: BackwardStep) -> bool:
    is_mean = step.saved.get("reduction") == 1
    return is_mean and is_one_of(step.kind, "picks_targets") and all_targets_ignored(step)


def _divides_by_0(step: BackwardStep) -> bool:
    """Is a divisor that it keeps 0?"""
    divisor = step.saved.get("other") if step.kind == "Div" else None
    return isinstance(divisor, torch.Tensor) and not bool(divisor.all())
