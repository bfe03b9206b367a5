"""Why an operation lets a gradient of zero, or one that is not finite, through."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from autograd_surprises.doctor import conditions as when
from autograd_surprises.doctor.steps import Step


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
    names = {"operation": readable(step.operation), "own": getattr(step.own, "__name__", "")}
    return row.cause, row.detail(step), {**names, "more": row.more}


NORMS = "NativeLayerNorm NativeBatchNorm NativeGroupNorm FusedRmsNorm CudnnBatchNorm"
SMOOTH_ENDS = "LogSigmoid Hardswish Erf Exp Softplus Gelu Silu Mish Elu"
ZERO = (
    Row("", "own-backward", when.own),
    Row("Round Floor Ceil Trunc Sign Sgn Bernoulli Heaviside FloorDivide", "staircase"),
    Row("Div", "staircase", when.rounds),
    Row("GridSampler2D GridSampler3D", "staircase", when.nearest),
    Row("", "empty-selection", when.empty),
    Row("NllLoss NllLoss2D", "empty-selection", when.all_ignored),
    Row("Clamp ClampMin ClampMax Hardtanh Relu6 Hardsigmoid", "outside-range", detail=when.outside),
    Row("Hardshrink Softshrink Threshold", "outside-range"),
    Row("Relu LeakyRelu", "dead-relu", detail=when.not_positive),
    Row("Sigmoid Tanh", "saturated", detail=when.at_the_end),
    Row(SMOOTH_ENDS, "saturated"),
    Row("Softmax LogSoftmax", "softmax-of-one", when.one_class),
    Row("Softmax", "constant-sum", when.same_for_all_classes),
    Row("Softmax LogSoftmax", "saturated", when.one_sided),
    Row("Softmax LogSoftmax MseLoss SmoothL1Loss HuberLoss Cos Cosh Sinc", "stationary"),
    Row(NORMS, "zero-factor", when.has_all_zero, more="0 in every element"),
    Row(NORMS, "normalised"),
    Row("Where WhereSelf MaskedFill MaskedFillTensor MaskedScatter", "other-branch"),
    Row("NativeDropout FusedDropout Dropout", "dropout"),
    Row("Abs LinalgVectorNorm Norm Pow", "stationary", when.at_zero),
    Row("Abs", "stationary", when.touches_zero, when.zero_inputs),
    Row("Std Var Cdist Atan2", "stationary"),
    Row("ToCopy", "underflow"),
    Row(
        "Index Select Slice Gather IndexSelect Embedding Max Min Maximum Minimum Amax Amin Unbind "
        "Split Narrow Topk Sort Median MaxPool2DWithIndices MaxPool2D Kthvalue Diagonal Tril Triu",
        "not-picked",
    ),
    Row(
        "Zero Fill FillScalar CopySlices Copy IndexFill IndexPut Scatter ConstantPadNd SetBackward",
        "overwritten-values",
    ),
    Row("Cat Stack", "part-is-zero"),
    Row("CompiledFunction", "compiled"),
    Row("BackwardHookFunction", "hook"),
    Row("", "zero-factor", when.has_zero_factor, more="0 in every element"),
    Row("", "zero-factor", when.zero_number, more="the number 0"),
    Row("", "cancel", when.cancels),
    Row("", "zero-factor", when.has_zeros, when.zeros, more="0 in places"),
    Row("", "unknown-zero"),
)
TINY = (
    Row("", "own-backward", when.own),
    Row(f"Sigmoid Tanh Softmax LogSoftmax {SMOOTH_ENDS}", "saturated"),
    Row(NORMS, "normalised"),
    Row("ToCopy", "underflow"),
    Row("", "cancel", when.cancels),
    Row("", "small-factor"),
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
    "Pow": "a power below 1 is infinitely steep at 0, and a negative base has no real power",
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
    "Xlogy": "xlogy(x, y) has the slope log(y), infinite at y = 0",
    "Tan": "tan has poles",
    "Lgamma": "lgamma has poles",
    "Digamma": "digamma has poles",
}
OVERFLOWS = "Exp Expm1 Exp2 Sinh Cosh ToCopy"
NOT_FINITE = (
    Row("", "own-backward", when.own),
    Row(
        "Softmax LogSoftmax Logsumexp SafeSoftmax ScaledDotProductFlashAttentionForCpu "
        "ScaledDotProductEfficientAttention MultiHeadAttentionForward",
        "empty-softmax",
    ),
    Row("Pow", "overflow", lambda step: not when.at_the_edge_of_pow(step)),
    *(Row(operation, "infinite-slope", more=text) for operation, text in EDGES.items()),
    Row("Div Reciprocal", "division-by-zero"),
    Row(OVERFLOWS, "overflow"),
    Row("", "overflow", when.large),
    Row("", "unknown-nonfinite"),
)


def readable(operation: str) -> str:
    """The name of an operation as one writes it.

    >>> readable("LinalgVectorNorm"), readable("LogSoftmax")
    ('linalg_vector_norm', 'log_softmax')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operation.removeprefix("Native")).lower()


def reason_born(operation: str) -> tuple[str, str, dict[str, str]]:
    """The same for a forward operation that made inf or NaN of finite numbers."""
    name = readable(operation)
    made = f"{name} gave inf or NaN in the forward pass: "
    if operation in ("Std", "Var"):
        return "forward-nonfinite", "", {"more": f": the {name} of a single element is 0/0"}
    if operation in EDGES:
        return "infinite-slope: forward", "", {"operation": name}
    if operation in OVERFLOWS.split():
        return "overflow: forward", "", {"operation": name}
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
