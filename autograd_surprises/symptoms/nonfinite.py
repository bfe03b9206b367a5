"""The gradient of a tensor is inf or NaN: a step of backward made it so, or the forward pass."""

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.evidence import Gradient
from autograd_surprises.symptoms.finding import Finding, at, in_and_out
from autograd_surprises.symptoms.flat_rules import OWN_BACKWARD
from autograd_surprises.symptoms.forward_rules import READY_MADE, SAFE_DIVISOR
from autograd_surprises.symptoms.rule import Rulebook, always

NAMES = {"self": "input", "other": "second input", "result": "result"}  # torch's names, ours


def nonfinite(gradient: Gradient) -> Finding | None:
    """The finding about a gradient with inf or NaN.

    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> explain(x.sqrt().sum(), {"x": x})["x"].rule
    'infinite-derivative/backward'
    """
    exam, name, size = gradient.exam, gradient.name, gradient.size
    if size.finite:
        return None
    status = "nan" if size.nan else "inf"
    count = f"{size.inf + size.nan} of {size.total} elements are not finite"
    origins = gradient.origins("not finite")
    step = next((origin for origin in origins if isinstance(origin, BackwardStep)), None)
    if step is None:
        found = NOT_FINITE_SUM.first(origins[0]).finding(ways=len(origins[0]))
        return found.about(name, status, (), count)
    node, also = f"first not finite in {in_and_out(step)}", [count]
    if step.spoiled is not None:
        also += _first_spoiled(step, *step.spoiled)
    too_late = TOO_LATE.first((step, exam.loss))
    forward = None if too_late else exam.first_nonfinite
    if forward is not None:
        return forward.about(name, status, forward.places, node, also)
    found = too_late.finding(step) if too_late else exam.why(step, NOT_FINITE)
    return found.about(name, status, at(step), node, also)


def _first_spoiled(step, position, arrived):
    """What arrived at the first element that is not finite, and what the step kept there."""
    parts = [f"at element {list(position)}"] if position else []
    parts += [] if arrived is None else [f"a gradient of {arrived:g} arrived"]
    kept = []
    for name, value in sorted(step.tensors().items(), key=lambda pair: pair[0] != "self"):
        fits = value.dim() == len(position) and value.is_floating_point()
        if fits and all(i < n for i, n in zip(position, value.shape, strict=True)):
            kept.append(f"its {NAMES.get(name, name)} was {value[position].item():g}")
    values = f" ({', '.join(kept)})" if kept else ""
    return [", ".join(parts) + values] if parts else []


# Tried before the forward pass is searched: it is NaN only where 0 arrived.
TOO_LATE = Rulebook()

TOO_LATE.add(
    "masked-too-late/proven",
    "0 times an infinite derivative is NaN: a gradient of 0 arrived at {operation}, probably "
    "because its result is afterwards masked, multiplied by 0, or squared where it is 0",
    "make the INPUT safe first, then mask: torch.where(ok, f(torch.where(ok, x, 1.0)), 0.0); for a "
    "distance, add a small eps under the root",
    "nan.where",
    when=lambda facts: facts[0].masked and facts[0].kept_finite() and facts[0].own is None,
)


def _is_left_out(facts) -> bool:
    """Is the loss finite, though numbers that enter or leave this step are not?

    Of an empty softmax, or data as a factor, more is known.
    """
    step, loss = facts
    traits = traits_of(step.kind)
    left_out = step.masked and step.own is None and not (traits.has_softmax or traits.multiplies)
    return left_out and bool(loss.isfinite().all())


TOO_LATE.add(
    "masked-too-late/not-finite",
    "{operation} computed with inf or NaN, or returned them. The loss leaves these elements out, "
    "but backward multiplies their gradient of 0 by a derivative that is not finite, which is NaN",
    "make the INPUT safe first, then select: torch.where(ok, f(torch.where(ok, x, 1.0)), 0.0)",
    "nan.where",
    when=_is_left_out,
)

# A finite gradient arrived at this step, and one that is not finite left it.
NOT_FINITE = Rulebook([OWN_BACKWARD])


def _has_a_base_of_0_or_less(step: BackwardStep) -> bool:
    base = step.saved.get("self")
    return isinstance(base, torch.Tensor) and bool((base <= 0).any())


NOT_FINITE.add(
    "infinite-derivative/backward",
    "{detail}",
    "keep the input away from that edge: add a small eps, or clamp it",
    "nan.distance",
    on={"edge": lambda step: step.kind != "Pow" or _has_a_base_of_0_or_less(step)},
    detail=lambda step: traits_of(step.kind).edge,
)

NOT_FINITE.add(
    "division-by-zero/backward",
    "the divisor is 0, or so small that the quotient overflows",
    SAFE_DIVISOR,
    on={"divides": always},
)


def _gets_a_large_gradient(step: BackwardStep) -> bool:
    """Is it near the largest number of its dtype?"""
    if step.sample is None or not step.sample.is_floating_point():
        return False
    largest = max(size.l1 for size in step.arriving if size)
    return largest > torch.finfo(step.sample.dtype).max ** 0.5


NOT_FINITE.add(
    "overflow/backward",
    "{operation} overflows: its result is more than its dtype can hold",
    READY_MADE,
    "nan.overflow",
    on={"overflows": always, "": _gets_a_large_gradient},
)

NOT_FINITE.add(
    "unknown-nonfinite",
    "the gradient that came in was finite, and the one that left is not",
    "look at the values that enter this operation",
    on={"": always},
)

# No step made it: contributions of healthy steps add up to inf or NaN.
NOT_FINITE_SUM = Rulebook()

NOT_FINITE_SUM.add(
    "hook/not-finite",
    "a hook replaced the gradient by inf or NaN",
    "look for register_hook() and module hooks on the way",
    when=lambda steps: len(steps) == 1,
)

NOT_FINITE_SUM.add(
    "overflow/sum",
    "the sum of {ways} finite contributions is more than its dtype can hold",
    "scale the loss; a wider dtype only moves the limit",
    when=lambda steps: len(steps) > 1,
)

NOT_FINITE_SUM.add(
    "nonfinite-start",
    "the gradient that enters the graph is already not finite",
    "check grad_outputs, and what the loss is multiplied by",
)
