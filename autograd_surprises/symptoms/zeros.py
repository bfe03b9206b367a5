"""A step of backward let no gradient through, or nearly none: what its operation did."""

from __future__ import annotations

from typing import NamedTuple

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.graph import below, leaf_of
from autograd_surprises.symptoms.rule import Rule, Rulebook, StepRule, always

NORMS = "NativeLayerNorm NativeBatchNorm NativeGroupNorm FusedRmsNorm CudnnBatchNorm"
SMOOTH_ENDS = "LogSigmoid Erf Exp Softplus Gelu Silu Mish Elu Celu Glu"
SMALLER_INPUTS = (
    "make the inputs smaller: scale, normalise, another initialisation; as a loss, use the form "
    "with logits (cross_entropy, binary_cross_entropy_with_logits)"
)

# The gradient is 0, or a part of it: the first rule that fits the step where it became 0.
ZERO = Rulebook(StepRule)


def _by_the_user(step: BackwardStep) -> bool:
    return step.is_users


OWN_BACKWARD = ZERO.add(
    "own-backward",
    "the backward of {whose} Function {own_name} returned it",
    "compare it with torch.autograd.gradcheck, in float64",
    "function.gradcheck",
    on={"": _by_the_user},
)


def _rounds(step: BackwardStep) -> bool:
    return isinstance(step.saved.get("rounding_mode"), str)


def _picks_the_nearest_pixel(step: BackwardStep) -> bool:
    return step.saved.get("interpolation_mode") == 1


STAIRCASE = ZERO.add(
    "staircase",
    "{operation} is a staircase: its gradient is 0 everywhere",
    "to train anyway, use a straight-through estimator: x + (f(x) - x).detach(), or your own "
    "Function",
    "zero.rounded",
    on={
        "Round Floor Ceil Trunc Sign Sgn Bernoulli Heaviside FloorDivide": always,
        "Div": _rounds,
        "GridSampler2D GridSampler3D": _picks_the_nearest_pixel,
    },
)


def _without_elements(step: BackwardStep) -> bool:
    return any(size.total == 0 for size in step.leaving if size)


def _all_targets_ignored(step: BackwardStep) -> bool:
    target, ignored = step.saved.get("target"), step.saved.get("ignore_index", 0)
    ignored = ignored if ignored < 2**63 else ignored - 2**64  # stored without sign
    return isinstance(target, torch.Tensor) and bool((target == ignored).all())


ZERO.add(
    "empty-selection/no-elements",
    "{operation} got an empty selection, so no gradient comes back; the mean of nothing is NaN",
    "leave the term out when nothing is selected",
    on={"": _without_elements, "NllLoss NllLoss2D": _all_targets_ignored},
)


RANGES = {"Hardsigmoid": (-3.0, 3.0), "Hardswish": (-3.0, None), "Relu6": (0.0, 6.0)}


def _below_its_range(step: BackwardStep) -> bool:
    return bool((step.saved["self"] <= RANGES[step.kind][0]).any())


def _inputs_outside(step: BackwardStep) -> str:
    """How many inputs lie outside the range, if the node keeps it."""
    low, high = (step.saved.get(end, step.saved.get(f"{end}_val")) for end in ("min", "max"))
    low, high = RANGES.get(step.kind, (low, high))
    values = step.saved.get("self")
    if not isinstance(values, torch.Tensor) or (low is None and high is None):
        return ""
    clamp = "Clamp" in step.kind  # lets the gradient through at the bounds, the others do not
    above, below = (torch.gt, torch.lt) if clamp else (torch.ge, torch.le)
    outside = torch.zeros((), dtype=torch.bool, device=values.device)
    if low is not None:
        outside = outside | below(values, torch.as_tensor(low, device=values.device))
    if high is not None:
        outside = outside | above(values, torch.as_tensor(high, device=values.device))
    ends = f"[{_bound(low, '-∞')}, {_bound(high, '∞')}]"
    where = "outside" if clamp else "at or outside"
    return f"{int(outside.sum())} of {outside.numel()} inputs lie {where} {ends}; "


def _bound(number, missing):
    if isinstance(number, torch.Tensor):
        return f"{number.item():g}" if number.numel() == 1 else "a tensor"
    return missing if number is None else f"{number:g}"


OUTSIDE_RANGE = ZERO.add(
    "outside-range",
    "{detail}{operation} is flat there, so its gradient is exactly 0",
    "keep the inputs inside, use a soft limit such as tanh or sigmoid, or let the gradient through "
    "with your own Function",
    "zero.clamped",
    on={
        "Clamp ClampMin ClampMax Hardtanh Relu6 Hardsigmoid Hardshrink Softshrink Threshold": (
            always
        ),
        "Hardswish": _below_its_range,
    },
    detail=_inputs_outside,
)


def _inputs_not_positive(step: BackwardStep) -> str:
    values = step.saved.get("result", step.saved.get("self"))
    off = values <= 0
    said = f"{int(off.sum())} of {values.numel()} inputs are 0 or less"
    if values.dim() not in (2, 4):  # (sample, unit), (sample, channel, height, width)
        return f"{said}; "
    units = off.transpose(0, 1).flatten(1).all(1)
    never = 0 < int(units.sum()) < units.numel()
    return said + (
        f", {int(units.sum())} of {units.numel()} units in all samples; " if never else "; "
    )


def _has_slope_0(step: BackwardStep) -> bool:
    """Is the slope 0 on the left?"""
    if step.kind == "LeakyRelu":
        return step.saved["negative_slope"] == 0
    if step.kind == "PreluKernel":
        return not bool(step.saved["weight"].all())
    if step.saved["training"]:
        return not bool(step.saved["noise"].all())  # the slopes that were drawn
    return step.saved["lower"] + step.saved["upper"] == 0


def _has_no_input_on_the_left(step: BackwardStep) -> bool:
    return bool(step.saved["self"].min() >= 0 and step.saved["self"].any())


ZERO.add(
    "empty-selection/prelu",
    "no input of PReLU is negative, so its slope on the left is not used",
    "do nothing if other batches have negative inputs",
    on={"PreluKernel": _has_no_input_on_the_left},
)

DEAD_RELU = ZERO.add(
    "dead-relu",
    "{detail}{operation} is flat there, so its gradient is 0",
    "if that is true of all samples: LeakyReLU or GELU, another bias or initialisation, or a "
    "smaller learning rate",
    "zero.dead-relu",
    on={"Relu": always, "LeakyRelu PreluKernel RreluWithNoise": _has_slope_0},
    detail=_inputs_not_positive,
)


def _classes(step):
    """The result of a softmax, and the dimension along which it sums to 1."""
    result, dim = step.saved["result"], step.saved["dim"]
    return result, dim if dim < result.dim() else dim - 2**64  # stored without sign


def _over_one_class(step: BackwardStep) -> bool:
    result, dim = _classes(step)
    return result.dim() > 0 and result.shape[dim] == 1


ZERO.add(
    "softmax-of-one",
    "a softmax over a dimension of size 1 is always 1",
    "take the softmax over the dimension that holds the classes; use sigmoid for a single output",
    "zero.softmax",
    on={"Softmax LogSoftmax": _over_one_class},
)


def _arriving_gradient_is_the_same_for_all_classes(step: BackwardStep) -> bool:
    result, dim = _classes(step)
    if not result.dim() or step.sample is None or step.sample.shape != result.shape:
        return False
    spread = (step.sample - step.sample.mean(dim, keepdim=True)).abs().max()
    return bool(spread <= 1e-6 * step.sample.abs().max())


ZERO.add(
    "constant-sum",
    "a softmax sums to 1, and the arriving gradient is the same for all its entries: the loss "
    "depends only on that constant sum",
    "use a loss that tells the classes apart, such as cross_entropy",
    "zero.softmax",
    on={"Softmax": _arriving_gradient_is_the_same_for_all_classes},
)


def _one_class_is_certain(step: BackwardStep) -> bool:
    result = step.saved["result"]
    return bool((result.exp() if step.kind == "LogSoftmax" else result).max() > 0.999)


def _outputs_at_the_end(step: BackwardStep) -> str:
    if step.kind not in ("Sigmoid", "Tanh"):
        return ""
    result = step.saved["result"]
    ends = result.abs() == 1 if step.kind == "Tanh" else (result == 0) | (result == 1)
    return f"{int(ends.sum())} of {result.numel()} outputs are rounded to the end of its range; "


SATURATED = ZERO.add(
    "saturated/zero",
    "{detail}{operation} is nearly flat there: its derivative, times the gradient that arrives, "
    "is too small for a float",
    SMALLER_INPUTS,
    "zero.saturated",
    on={f"Sigmoid Tanh {SMOOTH_ENDS}": always, "Softmax LogSoftmax": _one_class_is_certain},
    detail=_outputs_at_the_end,
)


def _zero_inputs(step: BackwardStep) -> tuple[int, int]:
    """How many inputs are 0, of how many."""
    values = step.saved.get("self")
    if not isinstance(values, torch.Tensor):
        return 0, 0
    return int((values == 0).sum()), values.numel()


def _at_zero(step: BackwardStep) -> bool:
    zeros, total = _zero_inputs(step)
    return zeros == total > 0


def _touches_zero(step: BackwardStep) -> bool:
    return _zero_inputs(step)[0] > 0


def _count_of_zero_inputs(step: BackwardStep) -> str:
    zeros, total = _zero_inputs(step) if step.kind == "Abs" else (0, 0)
    return f"{zeros} of {total} inputs are 0; " if zeros else ""


STATIONARY = ZERO.add(
    "stationary",
    "{detail}the input lies exactly where the derivative of {operation} is 0, or where it has none "
    "and PyTorch uses 0",
    "do nothing if this is the minimum that you want; otherwise start from other values",
    "atlas.nan",
    on={
        "Softmax LogSoftmax MseLoss SmoothL1Loss HuberLoss Cos Cosh Sinc Hardswish": always,
        "LinalgVectorNorm Norm Pow": _at_zero,
        "Abs": _touches_zero,
        "Std Var Cdist Atan2": always,
    },
    detail=_count_of_zero_inputs,
)

PRODUCTS = {"Mul", "Mm", "Addmm", "Bmm", "Baddbmm", "Mv", "Addmv", "Dot", "Linear", "Convolution",
            "MkldnnConvolution", "CudnnConvolution"}  # fmt: skip
FACTORS = {"self", "other", "mat1", "mat2", "mat", "vec", "weight", "input", "tensor1", "tensor2",
           "batch1", "batch2"}  # fmt: skip


def _factors(step):
    """The tensors that the gradient may be multiplied by."""
    return [value for name, value in step.tensors().items() if name in FACTORS]


def _has_zeros_in_a_factor(step: BackwardStep) -> bool:
    return step.kind in PRODUCTS and any(bool((value == 0).any()) for value in _factors(step))


def _zeros_in_the_factor(step: BackwardStep) -> str:
    if not _has_zeros_in_a_factor(step):
        return ""
    factor = next(value for value in _factors(step) if bool((value == 0).any()))
    return f"{int((factor == 0).sum())} of {factor.numel()} elements of a factor are 0; "


def _in_dropout(step: BackwardStep) -> bool:
    return step.called == "dropout" and _has_zeros_in_a_factor(step)


DROPOUT = ZERO.add(
    "dropout",
    "{detail}dropout dropped the elements whose gradient is 0",
    "do nothing if only a part is 0: each step drops other elements; otherwise use a lower p",
    on={"NativeDropout FusedDropout Dropout": always, "Mul": _in_dropout},
    detail=_zeros_in_the_factor,
)


def _has_a_factor_of_zeros(step: BackwardStep) -> bool:
    return any(not bool(value.any()) for value in _factors(step))


def _is_a_product_with_zeros(step: BackwardStep) -> bool:
    return step.kind in PRODUCTS and _has_a_factor_of_zeros(step)


def _times_a_librarys_zero(step: BackwardStep) -> bool:
    """Does a line of a library multiply a leaf by 0? It does so to give it a gradient at all."""
    nodes = below(step.node)
    of_leaf = len(nodes) < len(step.edges) and any(leaf_of(node) is not None for node in nodes)
    numbers = [value for value in _factors(step) if value.dim() == 0]
    return step.in_library and of_leaf and any(not bool(number) for number in numbers)


ZERO.add(
    "zero-factor/library",
    "a line of a library multiplies it by the number 0",
    "do nothing: it does not take part in this step",
    on={"Mul": _times_a_librarys_zero},
    alarm=False,
)

LOOK_AT_THE_ZEROS = "find where those zeros come from: initialisation, a mask, an input, relu"
ZERO.add(
    "zero-factor/tensor",
    "the gradient is multiplied by the other factor of {operation}, which is 0 in every element",
    LOOK_AT_THE_ZEROS,
    "zero.start",
    on={NORMS: _has_a_factor_of_zeros, "": _is_a_product_with_zeros},
)


def _has_a_quotient_of_0(step: BackwardStep) -> bool:
    """Is the dividend 0 in every element, and the gradient of the divisor, too?"""
    dividend = step.saved.get("self")
    known = isinstance(dividend, torch.Tensor) and len(step.leaving) == 2
    return known and not bool(dividend.any()) and step.leaving[1] and not step.leaving[1].nonzero


ZERO.add(
    "zero-factor/dividend",
    "the gradient of the divisor is multiplied by the quotient, which is 0 in every element",
    LOOK_AT_THE_ZEROS,
    on={"Div": _has_a_quotient_of_0},
)


def _zeros_in_each_product(step: BackwardStep) -> int:
    """The smallest number of factors that are 0 in one product."""
    factors, axis = step.saved.get("self"), step.saved.get("dim")
    if not isinstance(factors, torch.Tensor) or not factors.numel():
        return 0
    if axis is None:
        return int((factors == 0).sum())
    axis = axis if axis < 2**63 else axis - 2**64  # stored without sign
    return int((factors == 0).sum(axis).min())


ZERO.add(
    "zero-factor/product",
    "in each product, two or more factors are 0, so for each factor the product of the others is 0",
    LOOK_AT_THE_ZEROS,
    on={"Prod": lambda step: _zeros_in_each_product(step) > 1},
)


def _normalises_two_values(step: BackwardStep) -> bool:
    """Does it make -1 and 1 of any two values?"""
    values, axis = step.saved.get("input"), step.saved.get("normalized_shape")
    if not isinstance(values, torch.Tensor) or step.kind not in NORMALISES:
        return False
    if axis is not None:
        return values.shape[values.dim() - len(axis) :].numel() == 2
    trained = step.saved.get("training", False)
    return trained and values.dim() > 1 and values.numel() == 2 * values.shape[1]


NORMALISES = {"NativeLayerNorm", "NativeBatchNorm", "CudnnBatchNorm"}
TWO_VALUES = ZERO.add(
    "normalised/two-values",
    "{operation} normalises over only two values, and turns any two into -1 and 1",
    "a larger batch, or normalisation over more values",
    on={NORMS: _normalises_two_values},
)

NORMALISED = ZERO.add(
    "normalised/proven",
    "normalised values have a fixed mean and size, and to first order the loss depends on these "
    "only: {operation} would let another gradient through",
    "use a loss other than the sum or mean (or mean square) of normalised values",
    on={NORMS: lambda step: step.lets_through is True},
)

PROBABLY_NORMALISED = ZERO.add(
    "normalised/probably",
    "normalised values have a fixed mean and size, and the loss probably depends on these only",
    "use a loss other than the sum or mean (or mean square) of normalised values",
    on={NORMS: lambda step: step.lets_through is None},
)

OTHER_BRANCH = ZERO.add(
    "other-branch",
    "the condition or mask of {operation} covers the elements whose gradient is 0",
    "check the condition",
    on={"Where WhereSelf MaskedFill MaskedFillTensor MaskedScatter": always},
)


ZERO.add(
    "second-derivative",
    "the second derivative of relu is 0 everywhere, so nothing comes back through its derivative",
    "use tanh, softplus or gelu where the loss contains second derivatives",
    on={"ThresholdBackward": always},
)

USE_A_SCALER = "scale the loss (torch.amp.GradScaler), or use bfloat16"

UNDERFLOW = ZERO.add(
    "underflow/zero",
    "the gradient is too small for the dtype of this tensor, so it is 0",
    USE_A_SCALER,
    "half",
    on={"ToCopy": always},
)

NOT_PICKED = ZERO.add(
    "not-picked/elements",
    "only the elements that {operation} picked get a gradient",
    "do nothing if that is intended; otherwise use a soft form such as logsumexp or a mean",
    "atlas.ties",
    on={
        "Index Select Slice Gather IndexSelect Embedding Max Min Maximum Minimum Amax Amin Unbind "
        "Split Narrow Topk Sort Median MaxPool2DWithIndices MaxPool2D Kthvalue Diagonal Tril "
        "Triu": always
    },
)

OVERWRITTEN = ZERO.add(
    "overwritten-values",
    "{operation} replaced the values, and the replaced values get no gradient",
    "write into another tensor, or only where the old values are not needed",
    on={
        "Zero Fill FillScalar CopySlices Copy IndexFill IndexPut Scatter ConstantPadNd "
        "SetBackward": always
    },
)

ZERO.add(
    "part-is-zero",
    "{operation} joined this tensor with others, and only zeros came back for its part; the reason "
    "is not known here",
    "call explain() for the tensors that the joined one is split into, and look at each part",
    on={"Cat Stack": always},
)

ZERO.add(
    "compiled",
    "the gradient stops inside a compiled block, which is one opaque node of the graph",
    "record the forward pass with trace(): there the block runs eagerly",
    on={"CompiledFunction": always},
)

ZERO.add(
    "hook/module",
    "a backward hook of a module replaced the gradient by zeros",
    "look for register_full_backward_hook() and register_full_backward_pre_hook()",
    on={"BackwardHookFunction": always},
)


def _multiplies_by_the_number_0(step: BackwardStep) -> bool:
    numbers = [step.saved.get(name) for name in ("other", "alpha", "beta", "exponent", "p")]
    return any(type(number) in (int, float) and number == 0 for number in numbers)


ZERO_NUMBER = ZERO.add(
    "zero-factor/number",
    "the gradient is multiplied by the other factor of {operation}, which is the number 0",
    LOOK_AT_THE_ZEROS,
    on={"": _multiplies_by_the_number_0},
)


def _cancels(step: BackwardStep) -> bool:
    """Another gradient would get through, but the parts of this one add up to 0, or nearly."""
    return step.lets_through is True and not step.stopped


CANCEL_SHIFT = ZERO.add(
    "cancel/shift",
    "the contributions cancel when {operation} adds them up, as those of a constant that is added "
    "before BatchNorm or softmax do",
    "leave it out, or add it after the normalisation",
    on={"Add Sub": _cancels},
)

CANCEL = ZERO.add(
    "cancel/proven",
    "the contributions cancel when {operation} adds them up: another gradient would get through",
    "look for a constant or symmetric loss, or a minimum that is reached",
    on={"": _cancels},
)

ZEROS_IN_A_FACTOR = ZERO.add(
    "zero-factor/in-places",
    "{detail}the gradient is multiplied by the other factor of {operation}, which is 0 in places",
    LOOK_AT_THE_ZEROS,
    "zero.start",
    on={"": _has_zeros_in_a_factor},
    detail=_zeros_in_the_factor,
)

ZERO.add(
    "unknown-zero",
    "{operation} let no gradient through; the reason is not known here",
    "look at the values that enter this operation",
    on={"": always},
)

PART_NOT_PICKED = Rulebook(StepRule)

PART_NOT_PICKED.add(
    "not-picked/joined-this-time",
    "it was joined with others, and {operation} picked none of its elements in this step",
    "do nothing if that is intended",
    on={"Index IndexSelect Gather Max Min Maximum Minimum Amax Amin Topk Sort Median Kthvalue "
        "MaxPool2DWithIndices MaxPool2D": always},
    alarm=False,
)  # fmt: skip

PART_NOT_PICKED.add(
    "not-picked/joined-in-library",
    "it was joined with others, and in a library {operation} picked only elements of the others",
    "do nothing if that is intended, as in a model that uses only a part of its last layer",
    on={"": lambda step: step.in_library},
    alarm=False,
)

PART_NOT_PICKED.add(
    "not-picked/joined",
    "it was joined with others, and {operation} picked only elements of the others",
    "pick its elements, too, or leave it out",
    on={"": always},
)

# No single step made it 0: contributions of healthy steps add up to 0.
ZERO_SUM = Rulebook(Rule)

ZERO_SUM.add(
    "hook/zero",
    "a hook replaced the gradient by zeros",
    "look for register_hook() and module hooks on the way, and for clipping to 0",
    when=lambda total: len(total.steps) == 1,
)

ZERO_SUM.add(
    "cancel/paths",
    "the contributions along {ways} paths to it cancel when they are added",
    "look for a constant or symmetric loss: a term that is added and subtracted again",
    when=lambda total: len(total.steps) > 1,
)

ZERO_SUM.add(
    "zero-start",
    "the gradient that enters the graph is already zero",
    "check grad_outputs, and what the loss is multiplied by",
)

# A part of the gradient is 0, and it is proven that this step made it so: the first rule that fits,
# if any does.
PARTIAL = Rulebook(StepRule)


def _rows_not_looked_up(step: BackwardStep) -> str:
    rows = step.leaving[0].total // (step.arriving[0].total // step.saved["indices"].numel())
    used = step.saved["indices"].unique()
    used = used[used != step.saved.get("padding_idx", -1)]
    return f"{rows - used.numel()} of {rows} rows"


PARTIAL.add(
    "not-looked-up",
    "{detail} of the embedding were not looked up in this batch, or belong to the padding",
    "do nothing: each batch trains the rows that it uses",
    on={"Embedding": always},
    detail=_rows_not_looked_up,
)


def _empty_inputs(step: BackwardStep) -> tuple[int, int]:
    """How many inputs of a layer are 0 in the whole batch, and of how many."""
    for name in ("mat1", "input", "self"):  # its other factor is the weight
        values = step.saved.get(name)
        if isinstance(values, torch.Tensor) and values.dim() >= 2:
            features = 1 if "Convolution" in step.kind else values.dim() - 1
            empty = ~(values != 0).transpose(0, features).flatten(1).any(1)
            if bool(empty.any()):
                return int(empty.sum()), empty.numel()
    return 0, 0


def has_empty_inputs(step: BackwardStep) -> bool:
    """Does a layer get inputs that are 0 in the whole batch?"""
    return step.kind in PRODUCTS - {"Mul"} and _empty_inputs(step)[0] > 0


PARTIAL.add(
    "zero-input",
    "{detail} that enter {operation} are 0 in the whole batch, so the weights that they are "
    "multiplied by get no gradient",
    "do nothing if that is so in the data; otherwise find where those zeros come from",
    on={"": has_empty_inputs},
    detail=lambda step: "{} of {} inputs".format(*_empty_inputs(step)),
)


def _ignored_targets(step: BackwardStep) -> str:
    target, ignored = step.saved["target"], step.saved["ignore_index"]
    ignored = ignored if ignored < 2**63 else ignored - 2**64  # stored without sign
    return f"{int((target == ignored).sum())} of {target.numel()} targets are ignored; "


PARTIAL.add(
    "not-picked/targets",
    "{detail}{operation} picks the score of the target class, and only that gets a gradient",
    "do nothing: it is how this loss works",
    on={"NllLoss NllLoss2D": always},
    detail=_ignored_targets,
)

PARTIAL.add(
    "padding",
    "these elements lie beyond the length of their sequence",
    "do nothing: the padding is not part of the data",
    on={"PackPaddedSequence": always},
)

PARTIAL += [
    STAIRCASE, OUTSIDE_RANGE, DEAD_RELU, SATURATED, STATIONARY, DROPOUT, OTHER_BRANCH, UNDERFLOW,
    NOT_PICKED, OVERWRITTEN, ZERO_NUMBER, ZEROS_IN_A_FACTOR,
]  # fmt: skip

# The gradient is nearly 0: the first rule that fits the step where most of it was lost.
TINY = Rulebook(StepRule, OWN_BACKWARD)

TINY.add(
    "saturated/tiny",
    "{operation} is nearly flat there: its derivative is very small",
    SMALLER_INPUTS,
    "zero.saturated",
    on={
        f"Sigmoid Tanh Hardswish {SMOOTH_ENDS}": always,
        "Softmax LogSoftmax": lambda step: step.lets_through is not True,
    },
)

TINY += [TWO_VALUES, NORMALISED, PROBABLY_NORMALISED]

TINY.add(
    "underflow/tiny",
    "the gradient is so small that its dtype rounds most of it to 0",
    USE_A_SCALER,
    "half",
    on={"ToCopy": always},
)

TINY += [CANCEL_SHIFT, CANCEL]

TINY.add(
    "small-factor/proven",
    "the gradient is multiplied by a small factor in {operation}",
    "look at the size of what enters this operation: scale it, or the loss",
    on={"": lambda step: step.lets_through is False},
)

TINY.add(
    "small-factor/probably",
    "most of the gradient is lost in {operation}, probably because a factor is small there",
    "look at the size of what enters this operation: scale it, or the loss",
    on={"": always},
)


class Shrinking(NamedTuple):
    """A gradient that gets smaller in many steps: which kinds, and how much, in words.

    >>> SHRINKS.finding(Shrinking("30 SigmoidBackward0 together to 1e-18")).cause
    'shrinks'
    """

    steps: str


SHRINKS = Rule(
    "shrinks",
    "it shrinks a little in each of many steps: {steps}",
    "use ReLU-like activations, residual connections, normalisation, or another initialisation",
    "zero.saturated",
)

# The gradient is 0 or nearly 0, and there is nothing to repair.


class Factor(NamedTuple):
    """A parameter that the gradient of another tensor is multiplied by.

    >>> STARTS_SMALL.finding(Factor("gamma", 1e-6)).alarm
    False
    """

    name: str
    largest: float


STARTS_AT_ZERO = Rule(
    "zero-factor/parameter",
    "the gradient is multiplied by 0, because the parameter `{name}` is 0 in every element. That "
    "one gets a gradient, so its first update ends this",
    "do nothing if it starts at 0 on purpose, as in LoRA and in the last layer of a residual "
    "block; otherwise initialise it",
    "zero.start",
    alarm=False,
)


class FactorInFunction(NamedTuple):
    """The same, if a Function probably multiplies by it.

    >>> STARTS_AT_ZERO_IN_FUNCTION.finding(FactorInFunction("b", "LoHa", "your own")).cause
    'zero-factor'
    """

    name: str
    own_name: str
    whose: str


STARTS_AT_ZERO_IN_FUNCTION = Rule(
    "zero-factor/in-function",
    "the backward of {whose} Function {own_name} returned it, probably because the parameter "
    "`{name}`, another of its inputs, is 0 in every element. That one gets a gradient",
    "do nothing if it starts at 0 on purpose; otherwise initialise it",
    "zero.start",
    alarm=False,
)

STARTS_SMALL = Rule(
    "small-factor/parameter",
    "the gradient is multiplied by the parameter `{name}`, whose elements are at most "
    "{largest:.0e} in size. `{name}` gets a gradient itself",
    "do nothing if it starts small on purpose, as a layer scale does",
    alarm=False,
)

SMALL_INPUT = Rule(
    "small-factor/input",
    "the gradient is multiplied by the numbers that enter {operation} from the layers before it, "
    "and these are small",
    "do nothing if the weights start small on purpose; otherwise initialise them larger",
    alarm=False,
)

ROUNDED = Rule(
    "underflow/float16",
    "float16 rounds it to 0 on the way: a loss 65536 times as large gives it a gradient",
    USE_A_SCALER,
    "half",
)

MOSTLY_ROUNDED = Rule(
    "underflow/float16-mostly",
    "float16 rounds most of it to 0 on the way: a loss 65536 times as large gives it more than "
    "twice as many elements that are not 0",
    USE_A_SCALER,
    "half",
)

# Operations whose result stays the same if something is added to all that they normalise.
IGNORE_A_SHIFT = set(
    f"{NORMS} Softmax LogSoftmax SafeSoftmax ScaledDotProductFlashAttentionForCpu "
    "ScaledDotProductFlashAttention ScaledDotProductEfficientAttention "
    "ScaledDotProductCudnnAttention".split()
)

SHIFT = Rule(
    "cancel/before-normalisation",
    "its contributions cancel, up to rounding, when they are added: adding a constant here changes "
    "nothing, as for a bias before BatchNorm, or a bias of the keys in attention",
    "do nothing, or leave out this bias",
    alarm=False,
)

BALANCED = Rule(
    "cancel/balanced",
    "its contributions cancel, up to rounding, when they are added: at these values, the loss does "
    "not depend on it to first order",
    "do nothing if another tensor of the same layer gets a gradient",
    alarm=False,
)

NO_TOKEN = Rule(
    "empty-selection/expert",
    "nothing was selected for it in this batch, while {name}, of the same shape, got some samples",
    "do nothing if the model sends each sample to a few of its experts",
    alarm=False,
)
