"""Inf and NaN: which operation made them, in backward or in the forward pass, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.graph import readable
from autograd_surprises.symptoms.rule import Rule, Rulebook, StepRule, always
from autograd_surprises.symptoms.zeros import OWN_BACKWARD

# Kind of node -> the edge of its domain. In the forward pass, the same edges produce inf or NaN.
EDGES = {
    "Sqrt": "sqrt has the derivative 1/(2·sqrt(x)), infinite at 0",
    "Rsqrt": "rsqrt is infinite at 0",
    "Log": "log has the derivative 1/x, infinite at 0",
    "Log2": "log2 has an infinite derivative at 0",
    "Log10": "log10 has an infinite derivative at 0",
    "Log1P": "log1p has an infinite derivative at -1",
    "Logit": "logit has infinite derivatives at 0 and 1",
    "Pow": "an exponent below 1 is infinitely steep at 0, and a negative base has no real power",
    "Acos": "acos has an infinite derivative at -1 and 1",
    "Asin": "asin has an infinite derivative at -1 and 1",
    "Acosh": "acosh has an infinite derivative at 1",
    "Atanh": "atanh has an infinite derivative at -1 and 1",
    "Atan2": "atan2 has no derivative at (0, 0)",
    "Std": "std has no derivative where all values are equal, or there is only one",
    "Var": "the variance of a single element is 0/0",
    "LinalgVectorNorm": "a norm has no derivative at the zero vector",
    "Norm": "a norm has no derivative at the zero vector",
    "Cdist": "the distance of two equal points is sqrt(0), with an infinite derivative",
    "LinalgSvd": "singular values that are equal or 0 divide by 0",
    "LinalgEigh": "eigenvalues that are equal divide by 0",
    "LinalgInvEx": "a singular matrix has no inverse",
    "LinalgSlogdet": "log|det| has an infinite derivative at a singular matrix",
    "LinalgDet": "the derivative of det uses the inverse, which is infinite at a singular matrix",
    "SpecialEntr": "entr has the derivative -log(x) - 1, infinite at 0",
    "Xlogy": "xlogy(x, y) has the derivative log(y), infinite at y = 0",
    "Tan": "tan has poles",
    "Lgamma": "lgamma has poles",
    "Digamma": "digamma has poles",
}
CTC = "CtcLoss"
NORMS = "LinalgVectorNorm Norm Cdist"  # finite, unless their sum overflows
OVERFLOWS = "Exp Expm1 Exp2 Sinh Cosh ToCopy"
SOFTMAXES = (
    "Softmax LogSoftmax Logsumexp SafeSoftmax ScaledDotProductFlashAttentionForCpu "
    "ScaledDotProductEfficientAttention MultiHeadAttentionForward"
)
FINITE_MASK = (
    "mask with a finite number instead of -inf, one that float16 can hold: "
    "scores.masked_fill(mask, -1e4)"
)
LOOK_AT_THE_DATA = (
    "check torch.isfinite(x).all() for the data and the parameters, before the forward pass"
)
SAFE_DIVISOR = "divide by a safe number: torch.where(d == 0, 1.0, d)"
READY_MADE = (
    "use the ready-made function (sigmoid, softmax, logsumexp, cross_entropy), or another scale; a "
    "wider dtype only moves the limit"
)


def _is_masked_afterwards(step: BackwardStep) -> bool:
    """Is it NaN only where 0 arrived, though the forward pass was finite?"""
    return step.masked and step.kept_finite() and step.own is None


# Tried first, before the forward pass is searched.
MASKED_TOO_LATE = StepRule(
    "masked-too-late/proven",
    "0 times an infinite derivative is NaN: a gradient of 0 arrived at {operation}, probably "
    "because its result is masked, or multiplied by 0, afterwards",
    "make the INPUT safe first, then mask: torch.where(ok, f(torch.where(ok, x, 1.0)), 0.0)",
    "nan.where",
    on={"": _is_masked_afterwards},
)

# An operation turned finite numbers into inf or NaN in the forward pass.
FORWARD = Rulebook(StepRule)


@dataclass(frozen=True)
class Birth:
    """The first inf or NaN of the forward pass, and the kind of operation that made it.

    step    of backward, if the search in the graph found it
    proven  do the values that this step keeps show that it made them?

    >>> FORWARD.first(Birth("Exp")).cause
    'overflow'
    """

    kind: str
    step: BackwardStep | None = None
    proven: bool = False

    @property
    def operation(self) -> str:
        return readable(self.kind)


def _lengths(step: BackwardStep) -> list[tuple[int, int, int]]:
    """Of each sample of a CTC loss: the frames, the labels, and the frames that these need."""
    saved = step.saved
    frames, labels = ([int(n) for n in saved[name]] for name in ("input_lengths", "target_lengths"))
    targets, start, found = saved["targets"], 0, []
    for k, (have, length) in enumerate(zip(frames, labels, strict=True)):
        own = targets[k, :length] if targets.dim() == 2 else targets[start : start + length]
        start += length
        repeats = int((own[1:] == own[:-1]).sum())  # a blank has to stand between two equal labels
        found.append((have, length, length + repeats))
    return found


def _is_too_short(step: BackwardStep) -> bool:
    """Is a target of a CTC loss longer than its input, and not ignored?"""
    if step.kind not in CTC or step.saved.get("zero_infinity"):
        return False
    return any(needed > have for have, _, needed in _lengths(step))


def _the_shortest(birth: Birth) -> str:
    lengths = _lengths(birth.step)
    short = [k for k, (have, _, needed) in enumerate(lengths) if needed > have]
    have, labels, needed = lengths[short[0]]
    more = f" ({len(short)} of {len(lengths)} samples)" if len(short) > 1 else ""
    return (
        f"sample {short[0]} has {labels} labels, which need {needed} frames, and its input has "
        f"{have}{more}"
    )


def _multiplies_zero_by_infinity(factors: list[torch.Tensor | None]) -> bool:
    one, other = factors
    if one is None or other is None or not (one.isinf().any() or other.isinf().any()):
        return False
    try:
        product = one * other
    except RuntimeError:  # what was kept below has another shape
        return False
    return bool((product.isnan() & ~one.isnan() & ~other.isnan()).any())


def _divides_by_a_norm_of_0(step: BackwardStep) -> bool:
    return step.kind == "WeightNormInterface" and not bool(step.saved["result1"].all())


def makes_nan(step: BackwardStep, operands: list[torch.Tensor | None]) -> bool:
    """Do the values that a step keeps prove that it made inf or NaN of others?"""
    if step.kind == "Mul":
        return _multiplies_zero_by_infinity(operands)
    return _is_too_short(step) or _divides_by_a_norm_of_0(step)


def divides_by_0(step: BackwardStep) -> bool:
    """Is a divisor that it keeps 0?"""
    divisor = step.saved.get("other") if step.kind == "Div" else None
    return isinstance(divisor, torch.Tensor) and not bool(divisor.all())


FORWARD.add(
    "target-too-long",
    "ctc_loss is inf, since no alignment exists: {detail}",
    "give it longer inputs (less downsampling) or shorter targets, or leave such samples out with "
    "zero_infinity=True",
    on={CTC: lambda birth: birth.proven},
    detail=_the_shortest,
)

FORWARD.add(
    "zero-times-infinity",
    "{operation} multiplies 0 by infinity, which is NaN: probably a masked probability (0) by its "
    "logarithm (-inf)",
    f"mask the logarithm, too, before the product: p * logp.masked_fill(p == 0, 0.0); or "
    f"{FINITE_MASK}",
    on={"Mul": lambda birth: birth.proven},
)

FORWARD.add(
    "division-by-zero/weight-norm",
    "weight_norm divides by the norm of a weight that is 0, and 0/0 is NaN",
    "initialise the weight with other numbers; to start from 0, set the gain "
    "(weight_g, parametrizations.weight.original0) to 0",
    on={"WeightNormInterface": lambda birth: birth.proven},
)

FORWARD.add(
    "division-by-zero/normalize",
    "normalize divides by 0: a vector is 0, and eps rounds to 0 in the dtype of the vector, as "
    "1e-12 does in float16",
    "normalize in float32, F.normalize(x.float(), dim=-1), or pass an eps that the dtype can hold: "
    "1e-6 in float16",
    on={"Normalize": always},
)

FORWARD.add(
    "forward-nonfinite/single-element",
    "the forward pass computed with inf or NaN: the {operation} of a single element is 0/0",
    LOOK_AT_THE_DATA,
    on={"Std Var": always},
)

FORWARD.add(
    "infinite-derivative/forward",
    "{operation} returned inf or NaN in the forward pass: its input is at or beyond the edge of "
    "its domain",
    "keep the input inside: x.clamp_min(1e-8) before a log; for the logarithm of a softmax, "
    "log_softmax",
    "nan.entropy",
    on={" ".join(EDGES.keys() - {"Pow", *NORMS.split()}): always},
)

FORWARD.add(
    "infinite-derivative/power",
    "{operation} returned inf or NaN in the forward pass: its input is at or beyond the edge of "
    "its domain, or its result is more than its dtype can hold",
    "keep the input away from 0, or use another scale; a wider dtype moves the limit",
    on={"Pow": always},
)

FORWARD.add(
    "overflow/forward",
    "{operation} overflowed in the forward pass: its result is more than its dtype can hold",
    READY_MADE,
    "nan.overflow",
    on={f"{OVERFLOWS} {NORMS} Square Sum": always},
)


def _is_sure(birth: Birth) -> bool:
    """Does a log_softmax hold -inf, but no NaN?"""
    return birth.step is not None and not bool(birth.step.saved["result"].isnan().any())


FORWARD.add(
    "masked-class",
    "log_softmax is -inf for a class: probably its score is masked with -inf, and the loss uses it",
    f"check that no target is masked, or {FINITE_MASK}",
    on={"LogSoftmax": _is_sure},
)

FORWARD.add(
    "empty-softmax",
    "{operation} returned inf or NaN in the forward pass: probably a whole row is masked (-inf), "
    "and a softmax over nothing is 0/0",
    f"leave out empty rows, or {FINITE_MASK}",
    "nan.attention",
    on={SOFTMAXES: always},
)

FORWARD.add(
    "division-by-zero/forward",
    "{operation} returned inf or NaN in the forward pass: the divisor is 0, or so small that the "
    "quotient overflows",
    SAFE_DIVISOR,
    on={"Div Reciprocal": always},
)

UNKNOWN_OPERATION = FORWARD.add(
    "forward-nonfinite/operation",
    "the forward pass computed with inf or NaN, which {operation} returned",
    LOOK_AT_THE_DATA,
    on={"": always},
)

NAN_LEAF = Rule(
    "nan-leaf",
    "{name} itself holds NaN, so everything computed with it is NaN",
    "find what was written into it: data, or an update by a gradient that was already NaN",
    "nan",
)


class Data(NamedTuple):
    """Data that hold inf or NaN, and how many of their elements do.

    >>> NAN_DATA.finding(Data("target", "1 of 6")).sentence.partition(",")[0]
    'target holds inf or NaN in 1 of 6 elements'
    """

    name: str
    bad: str


NAN_DATA = Rule(
    "nonfinite-data",
    "{name} holds inf or NaN in {bad} elements, so everything computed with them is NaN or inf. It "
    "requires no gradient: it is data, or was computed from data",
    "repair or leave out these samples when the data are read: torch.isfinite(x).all()",
    "nan",
)

MASKED_DATA = Rule(
    "masked-too-late/data",
    "0 times NaN is NaN: data hold NaN, and a product with a mask of zeros does not remove it",
    "replace it before the computation: torch.where(ok, data, 0.0); or select what is there: x[ok]",
    "nan.where",
)

UNKNOWN_ORIGIN = Rule(
    "forward-nonfinite/unknown",
    "the forward pass computed with inf or NaN, and no operation that can be checked here produced "
    "them: probably the data or a parameter has them, or something overflowed",
    LOOK_AT_THE_DATA,
)

# A finite gradient arrived at this step, and one that is not finite left it.
NOT_FINITE = Rulebook(StepRule, OWN_BACKWARD)


def _has_a_base_of_0_or_less(step: BackwardStep) -> bool:
    base = step.saved.get("self")
    return isinstance(base, torch.Tensor) and bool((base <= 0).any())


NOT_FINITE.add(
    "infinite-derivative/backward",
    "{detail}",
    "keep the input away from that edge: add a small eps, or clamp it",
    "nan.distance",
    on={" ".join(EDGES.keys() - {"Pow"}): always, "Pow": _has_a_base_of_0_or_less},
    detail=lambda step: EDGES[step.kind],
)

NOT_FINITE.add(
    "division-by-zero/backward",
    "the divisor is 0, or so small that the quotient overflows",
    SAFE_DIVISOR,
    on={"Div Reciprocal": always},
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
    on={f"Pow {OVERFLOWS}": always, "": _gets_a_large_gradient},
)

NOT_FINITE.add(
    "unknown-nonfinite",
    "the gradient that came in was finite, and the one that left is not",
    "look at the values that enter this operation",
    on={"": always},
)

# No step made it: contributions of healthy steps add up to inf or NaN.
NOT_FINITE_SUM = Rulebook(Rule)

NOT_FINITE_SUM.add(
    "hook/not-finite",
    "a hook replaced the gradient by inf or NaN",
    "look for register_hook() and module hooks on the way",
    when=lambda total: len(total.steps) == 1,
)

NOT_FINITE_SUM.add(
    "overflow/sum",
    "the sum of {ways} finite contributions is more than its dtype can hold",
    "scale the loss; a wider dtype only moves the limit",
    when=lambda total: len(total.steps) > 1,
)

NOT_FINITE_SUM.add(
    "nonfinite-start",
    "the gradient that enters the graph is already not finite",
    "check grad_outputs, and what the loss is multiplied by",
)
