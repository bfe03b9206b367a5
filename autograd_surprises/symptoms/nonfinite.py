"""The gradient of a tensor is inf or NaN: a step of backward made it so, or the forward pass."""

import torch

from autograd_surprises.backward.steps import BackwardStep, GradientSize
from autograd_surprises.facts.graph import Edge
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.examination import Examination
from autograd_surprises.symptoms.finding import Finding, at, in_and_out
from autograd_surprises.symptoms.nonfinite_forward import READY_MADE, SAFE_DIVISOR
from autograd_surprises.symptoms.rule import Rulebook, StepRule, always
from autograd_surprises.symptoms.zero_rules import OWN_BACKWARD

NAMES = {"self": "input", "other": "second input", "result": "result"}  # torch's names, ours


def _is_left_out(step: BackwardStep) -> bool:
    """Is it NaN only where 0 arrived? Of an empty softmax, or data as a factor, more is known."""
    traits = traits_of(step.kind)
    return step.masked and step.own is None and not (traits.has_softmax or traits.multiplies)


# Tried first, before the forward pass is searched: it is NaN only where 0 arrived.
MASKED_TOO_LATE = StepRule(
    "masked-too-late/proven",
    "0 times an infinite derivative is NaN: a gradient of 0 arrived at {operation}, probably "
    "because its result is masked, multiplied by 0, or squared where it is 0, afterwards",
    "make the INPUT safe first, then mask: torch.where(ok, f(torch.where(ok, x, 1.0)), 0.0); for a "
    "distance, add a small eps under the root",
    "nan.where",
    on={"": lambda step: step.masked and step.kept_finite() and step.own is None},
)

# The same if the loss is finite, though numbers that enter or leave this step are not.
LEFT_OUT_TOO_LATE = StepRule(
    "masked-too-late/not-finite",
    "{operation} computed with inf or NaN, or returned them. The loss leaves these elements out, "
    "but backward multiplies their gradient of 0 by a derivative that is not finite, which is NaN",
    "make the INPUT safe first, then select: torch.where(ok, f(torch.where(ok, x, 1.0)), 0.0)",
    "nan.where",
    on={"": _is_left_out},
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


def nonfinite(exam: Examination, name: str, size: GradientSize, edge: Edge) -> Finding:
    """The finding about a gradient with inf or NaN.

    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> explain(x.sqrt().sum(), {"x": x})["x"].rule
    'infinite-derivative/backward'
    """
    status = "nan" if size.nan else "inf"
    count = f"{size.inf + size.nan} of {size.total} elements are not finite"
    origins = exam.backward.origins(*edge, "not finite") or [()]
    step = next((origin for origin in origins if isinstance(origin, BackwardStep)), None)
    if step is None:
        found = NOT_FINITE_SUM.first(origins[0]).finding(ways=len(origins[0]))
        return found.about(name, status, (), count)
    node, also = f"first not finite in {in_and_out(step)}", [count]
    if step.spoiled is not None:
        also += _first_spoiled(step, *step.spoiled)
    if MASKED_TOO_LATE.fits(step):
        return MASKED_TOO_LATE.finding(step).about(name, status, at(step), node, also)
    if LEFT_OUT_TOO_LATE.fits(step) and bool(exam.loss.isfinite().all()):
        return LEFT_OUT_TOO_LATE.finding(step).about(name, status, at(step), node, also)
    forward = exam.first_nonfinite
    if forward is not None:
        return forward.about(name, status, forward.places, node, also)
    return exam.why(step, NOT_FINITE).about(name, status, at(step), node, also)


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
