"""The gradient became 0 in a step of backward, or a part of it did: what its operation did."""

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.graph import below, leaf_of
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.flat_rules import FLAT
from autograd_surprises.symptoms.rule import Rule, Rulebook, always

# The first rule that fits the step where the gradient became 0.
ZERO = Rulebook(FLAT)

# What nodes call the tensors that they multiply.
FACTORS = {"self", "other", "mat1", "mat2", "mat", "vec", "weight", "input", "tensor1", "tensor2",
           "batch1", "batch2", "vec1", "vec2"}  # fmt: skip


def _factors(step):
    """The tensors that the gradient may be multiplied by."""
    return [value for name, value in step.tensors().items() if name in FACTORS]


def _has_zeros_in_a_factor(step: BackwardStep) -> bool:
    return _zeros_in_the_factor(step) != ""


def _zeros_in_the_factor(step: BackwardStep) -> str:
    zeros = [value == 0 for value in _factors(step) if traits_of(step.kind).multiplies]
    factor = next((each for each in zeros if bool(each.any())), None)
    if factor is None:
        return ""
    return f"{int(factor.sum())} of {factor.numel()} elements of a factor are 0; "


DROPOUT = ZERO.add(
    "dropout",
    "{detail}dropout dropped the elements whose gradient is 0",
    "do nothing if only a part is 0: each step drops other elements; otherwise use a lower p",
    on={
        "drops": always,
        "Mul": lambda step: step.called == "dropout" and _has_zeros_in_a_factor(step),
    },
    detail=_zeros_in_the_factor,
)


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
    on={"normalises multiplies": lambda step: not all(bool(v.any()) for v in _factors(step))},
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
    return int((factors == 0).sum(axis).min())


ZERO.add(
    "zero-factor/product",
    "in each product, two or more factors are 0, so for each factor the product of the others is 0",
    LOOK_AT_THE_ZEROS,
    on={"Prod": lambda step: _zeros_in_each_product(step) > 1},
)


def _normalises_two_values(step: BackwardStep) -> bool:
    """Does it make -1 and 1 of any two values?"""
    values, shape = step.saved.get("input"), step.saved.get("normalized_shape")
    if not isinstance(values, torch.Tensor) or not traits_of(step.kind).ignores_a_shift:
        return False
    if shape is not None:  # layer norm
        return values.shape[values.dim() - len(shape) :].numel() == 2
    if "group" in step.saved:  # group norm
        return values.numel() == 2 * values.shape[0] * step.saved["group"]
    trained = step.saved.get("training", False)
    return trained and values.dim() > 1 and values.numel() == 2 * values.shape[1]


TWO_VALUES = ZERO.add(
    "normalised/two-values",
    "{operation} normalises over only two values, and turns two that clearly differ into -1 and 1",
    "use a larger batch, or normalise over more values",
    on={"normalises": _normalises_two_values},
)

NORMALISED = ZERO.add(
    "normalised/proven",
    "normalised values have a fixed mean and size, and to first order the loss depends only on "
    "these: {operation} would let another gradient through",
    "use a loss other than the sum or mean (or mean square) of normalised values",
    on={"normalises": lambda step: step.lets_through is True},
)

OTHER_BRANCH = ZERO.add(
    "other-branch",
    "the condition or mask of {operation} covers the elements whose gradient is 0",
    "check the condition",
    on={"chooses": always},
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

ROUNDED = Rule(
    "underflow/float16",
    "float16 rounds it to 0 on the way: a loss 65536 times as large gives it a gradient",
    USE_A_SCALER,
    "half",
    when=lambda facts: not facts.gradient.size.nonzero and facts.gradient.is_rounded,
    shown=lambda facts: (facts.gradient.enters_float16, ""),
)


def _picks_only_padding(step: BackwardStep) -> bool:
    padding, picked = step.saved.get("padding_idx"), step.saved.get("indices")
    return isinstance(picked, torch.Tensor) and bool((picked == padding).all())


ZERO.add(
    "padding-row",
    "{operation} picked only the row of padding_idx, which gets no gradient",
    "do nothing if the whole batch is padding; otherwise set padding_idx to an index that no "
    "token has",
    on={"looks_up": _picks_only_padding},
)

NOT_PICKED = ZERO.add(
    "not-picked/elements",
    "only the elements that {operation} picked get a gradient",
    "do nothing if that is intended; otherwise use a soft form such as logsumexp or a mean",
    "atlas.ties",
    on={"picks": always},
)

OVERWRITTEN = ZERO.add(
    "overwritten-values",
    "{operation} replaced the values, and the replaced values get no gradient",
    "write into another tensor, or only where the old values are not needed",
    on={"overwrites": always},
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


def _meets_the_first_state(step: BackwardStep) -> bool:
    """Does a gradient arrive only at the first step of a recurrent layer, whose state is 0?"""
    node, arrived = step.node, step.sample
    if (
        arrived is None
        or arrived.dim() != 3
        or any(size.nonzero for size in step.arriving[1:] if size)
    ):
        return False
    try:
        start, backwards = node._saved_hx_, node._saved_reverse
    except (AttributeError, RuntimeError):  # another kernel, or freed
        return False
    there = arrived.flatten(1).ne(0).any(1).nonzero().flatten().tolist()
    return there == [len(arrived) - 1 if backwards else 0] and not bool(start.any())


ZERO.add(
    "zero-factor/first-state",
    "the gradient arrives only at the first step of this direction, and the hidden state that "
    "enters it is 0",
    "with bidirectional=True, output[:, -1] has the first step of the reverse direction: use h_n, "
    "or torch.cat([output[:, -1, :hidden], output[:, 0, hidden:]], 1)",
    on={"MkldnnRnnLayer": _meets_the_first_state},
)

CANCEL_SHIFT = ZERO.add(
    "cancel/shift",
    "the contributions cancel when {operation} adds them up, as those of a constant that is added "
    "before BatchNorm or softmax do",
    "leave it out, or add it after the normalisation",
    on={"only_adds": _cancels},
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
