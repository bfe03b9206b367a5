"""Why an operation lets a gradient of zero, or one that is not finite, through."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from helpers.doctor.backward import Step


class Row(NamedTuple):
    """A line of knowledge.

    operations  graph nodes, without Backward and number, separated by spaces; "" is every one
    cause       a slug of CAUSES
    when        it holds only then
    detail      counts of this case, said before the sentence
    more        fills in {more} of the sentence
    """

    operations: str
    cause: str
    when: Callable[[Step], bool] = lambda step: True
    detail: Callable[[Step], str] = lambda step: ""
    more: str = ""


def reason(step: Step, table: tuple[Row, ...]) -> tuple[str, str, dict[str, str]]:
    """(cause, detail, names for its words) of the first row that fits; the last row always does."""
    row = next(r for r in table if step.operation in (r.operations.split() or [step.operation])
               and r.when(step))  # fmt: skip
    names = {"operation": step.operation.lower(), "own": getattr(step.own, "__name__", "")}
    return row.cause, row.detail(step), {**names, "more": row.more}


# Conditions and details.


def floats(step: Step) -> dict[str, torch.Tensor]:
    """The floating-point tensors that the node keeps from the forward pass."""
    return {
        name: value
        for name, value in step.saved().items()
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel()
    }


def saved_is_finite(step: Step) -> bool:
    """Are all the numbers that it keeps finite?"""
    return all(bool(value.isfinite().all()) for value in floats(step).values())


def _own(step):
    return step.own is not None and not step.own.__module__.startswith("torch.")


def _rounds(step):
    return isinstance(step.saved().get("rounding_mode"), str)


def _nearest(step):
    return step.saved().get("interpolation_mode") == 1


def _empty(step):
    return any(amount.total == 0 for amount in step.leaving if amount)


def _outside(step):
    saved = step.saved()
    low, high = (saved.get(end, saved.get(f"{end}_val")) for end in ("min", "max"))
    if step.operation == "Hardsigmoid":
        low, high = -3.0, 3.0
    inside = torch.ones_like(saved["self"], dtype=torch.bool)
    inside &= saved["self"] >= low if low is not None else True
    inside &= saved["self"] <= high if high is not None else True
    ends = [("-∞", "∞")[i] if end is None else _short(end) for i, end in enumerate((low, high))]
    return f"{int((~inside).sum())} of {inside.numel()} inputs lie outside [{', '.join(ends)}]; "


def _short(number):
    if isinstance(number, torch.Tensor):
        return f"{number.item():g}" if number.numel() == 1 else "a tensor"
    return f"{number:g}"


def _not_positive(step):
    saved = step.saved()
    values = saved.get("result", saved.get("self"))
    return f"{int((values <= 0).sum())} of {values.numel()} inputs are 0 or less; "


def _at_the_end(step):
    result = step.saved()["result"]
    ends = result.abs() == 1 if step.operation == "Tanh" else (result == 0) | (result == 1)
    return f"{int(ends.sum())} of {result.numel()} outputs are rounded to the end of its range; "


def _classes(step):
    """The result of a softmax, and the dimension along which it sums to 1."""
    result, dim = step.saved()["result"], step.saved()["dim"]
    return result, dim if dim < result.dim() else dim - 2**64  # stored without sign


def _one_class(step):
    result, dim = _classes(step)
    return result.dim() and result.shape[dim] == 1


def _same_for_all_classes(step):
    result, dim = _classes(step)
    if not result.dim() or step.sample is None or step.sample.shape != result.shape:
        return False
    spread = (step.sample - step.sample.mean(dim, keepdim=True)).abs().max()
    return bool(spread <= 1e-6 * step.sample.abs().max())


def _at_zero(step):
    values = step.saved().get("self")
    return isinstance(values, torch.Tensor) and not bool(values.any())


def _all_zero(step):
    return any(not bool(v.any()) for name, v in floats(step).items() if name != "result")


def _zero_number(step):
    saved = step.saved()
    numbers = [saved.get(name) for name in ("other", "alpha", "beta", "exponent", "p")]
    return any(type(number) in (int, float) and number == 0 for number in numbers)


def _cancels(step):
    """One input got fewer elements than arrived, and nearly nothing: they were added up."""
    most = max((amount.total for amount in step.arriving if amount), default=0)
    mass = sum(amount.mass for amount in step.arriving if amount)
    return any(left and 0 < left.total < most and left.mass < 1e-4 * mass for left in step.leaving)


def _zeros(step):
    parts = [
        f"{int((value == 0).sum())} of {value.numel()} elements of a factor are 0; "
        for name, value in floats(step).items()
        if name != "result" and bool((value == 0).any())
    ]
    return parts[0] if parts else ""


def _large(step):
    return max(amount.mass for amount in step.arriving if amount) > 1e30


ZERO = (
    Row("", "own-backward", _own),
    Row("Round Floor Ceil Trunc Sign Sgn Bernoulli Heaviside FloorDivide", "staircase"),
    Row("Div", "staircase", _rounds),
    Row("GridSampler2D GridSampler3D", "staircase", _nearest),
    Row("", "empty-selection", _empty),
    Row("Clamp ClampMin ClampMax Hardtanh Relu6 Hardsigmoid", "outside-range", detail=_outside),
    Row("Relu Threshold LeakyRelu", "dead-relu", detail=_not_positive),
    Row("Sigmoid Tanh", "saturated", detail=_at_the_end),
    Row("LogSigmoid Hardswish Erf Exp Softplus Gelu Silu Mish Elu", "saturated"),
    Row("Softmax LogSoftmax", "softmax-of-one", _one_class),
    Row("Softmax", "constant-sum", _same_for_all_classes),
    Row("Softmax LogSoftmax", "saturated"),
    Row(
        "NativeLayerNorm NativeBatchNorm NativeGroupNorm FusedRmsNorm CudnnBatchNorm", "normalised"
    ),
    Row("Where WhereSelf MaskedFill MaskedFillTensor MaskedScatter", "other-branch"),
    Row("NativeDropout FusedDropout Dropout", "dropout"),
    Row("Abs LinalgVectorNorm Norm Pow", "stationary", _at_zero),
    Row("Std Var Cdist Atan2", "stationary"),
    Row("ToCopy", "underflow"),
    Row(
        "Index Select Slice Gather IndexSelect Embedding Max Min Maximum Minimum Amax Amin Unbind "
        "Split Narrow Topk Sort Median MaxPool2DWithIndices MaxPool2D Kthvalue Diagonal Tril Triu",
        "not-picked",
    ),
    Row("CompiledFunction", "compiled"),
    Row("BackwardHookFunction", "hook"),
    Row("", "zero-factor", _all_zero, more="0 in every element"),
    Row("", "zero-factor", _zero_number, more="the number 0"),
    Row("", "cancel", _cancels),
    Row("", "zero-factor", detail=_zeros, more="0 in places"),
)

# Operation: its edge. In the forward pass, the same edges give inf or NaN.
EDGES = {
    "Sqrt": "sqrt has the slope 1/(2·sqrt(x)), infinite at 0",
    "Rsqrt": "rsqrt is infinite at 0",
    "Log": "log has the slope 1/x, infinite at 0",
    "Log2": "log2 has an infinite slope at 0",
    "Log10": "log10 has an infinite slope at 0",
    "Log1P": "log1p has an infinite slope at -1",
    "Logit": "logit has infinite slopes at 0 and 1",
    "Pow": "a power below 1 has an infinite slope at 0, and a negative base gives NaN",
    "Acos": "acos has an infinite slope at -1 and 1",
    "Asin": "asin has an infinite slope at -1 and 1",
    "Acosh": "acosh has an infinite slope at 1",
    "Atanh": "atanh has an infinite slope at -1 and 1",
    "Atan2": "atan2 has no slope at (0, 0)",
    "Std": "std has no slope where all values are the same, or only one is there",
    "Var": "the variance of a single element is 0/0",
    "LinalgVectorNorm": "a norm has no slope at the zero vector",
    "Norm": "a norm has no slope at the zero vector",
    "Cdist": "the distance of two equal points is sqrt(0), with an infinite slope",
    "LinalgSvd": "singular values that are equal or 0 divide by 0",
    "LinalgEigh": "eigenvalues that are equal divide by 0",
    "LinalgInvEx": "a singular matrix has no inverse",
    "LinalgSlogdet": "log|det| has an infinite slope at a singular matrix",
    "LinalgDet": "the slope of det uses the inverse, which is infinite at a singular matrix",
    "Prod": "the slope of a product divides by its factors",
    "Cumprod": "the slope of a cumulative product divides by its factors",
    "Tan": "tan has poles",
    "Lgamma": "lgamma has poles",
    "Digamma": "digamma has poles",
}
NOT_FINITE = (
    Row(
        "Softmax LogSoftmax Logsumexp SafeSoftmax ScaledDotProductFlashAttentionForCpu "
        "ScaledDotProductEfficientAttention MultiHeadAttentionForward",
        "empty-softmax",
    ),
    *(Row(operation, "infinite-slope", more=text) for operation, text in EDGES.items()),
    Row("Div Reciprocal", "division-by-zero"),
    Row("Exp Expm1 Exp2 Sinh Cosh ToCopy", "overflow"),
    Row("", "infinite-factor", lambda step: not saved_is_finite(step)),
    Row("", "own-backward", _own),
    Row("", "overflow", _large),
    Row("", "unknown-nonfinite"),
)


def reason_born(operation: str) -> tuple[str, str, dict[str, str]]:
    """The same for a forward operation that made inf or NaN of finite numbers."""
    name = operation.lower()
    made = f"{name} gave inf or NaN in the forward pass: "
    if operation in EDGES:
        return "infinite-slope: forward", "", {"operation": name}
    for row in NOT_FINITE:
        if operation in row.operations.split():
            return row.cause, made, {"operation": name, "more": row.more}
    return "forward-nonfinite", "", {"more": f", which {name} gave"}


def operation_of(call: str) -> str:
    """The graph's name for a function of torch.

    >>> operation_of("log_softmax"), operation_of("__truediv__")
    ('LogSoftmax', 'Div')
    """
    name = "".join(part.capitalize() for part in call.strip("_").split("_"))
    aliases = {"Truediv": "Div", "Rtruediv": "Div", "Divide": "Div", "VectorNorm": "Norm"}
    return aliases.get(name, name)
