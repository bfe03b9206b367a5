"""The gradient became 0 in a step of backward whose operation is flat where its input lies."""

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.operations import traits_of
from autograd_surprises.symptoms.rule import Rulebook, always

SMALLER_INPUTS = (
    "make the inputs smaller (scale, normalise or initialise differently); as a loss, use the form "
    "with logits (cross_entropy, binary_cross_entropy_with_logits)"
)

# The first of the rules of ZERO, in zero_rules.py.
FLAT = Rulebook()


OWN_BACKWARD = FLAT.add(
    "own-backward",
    "the backward of {whose} Function {own_name} returned this gradient",
    "compare it with torch.autograd.gradcheck, in float64",
    "function.gradcheck",
    on={"": lambda step: step.is_users},
)


STAIRCASE = FLAT.add(
    "staircase",
    "{operation} is a staircase: its gradient is 0 everywhere",
    "to train anyway, use a straight-through estimator: x + (f(x) - x).detach(), or your own "
    "Function",
    "zero.rounded",
    on={
        "staircase": always,
        "Div": lambda step: isinstance(step.saved.get("rounding_mode"), str),
        "interpolates": lambda step: step.saved.get("interpolation_mode") == 1,  # the nearest pixel
    },
)


def all_targets_ignored(step: BackwardStep) -> bool:
    """Has each target of this loss the ignore_index?

    >>> scores = torch.zeros(1, 2, requires_grad=True)
    >>> loss = torch.nn.functional.cross_entropy(scores, torch.tensor([-100]))
    >>> all_targets_ignored(BackwardStep(loss.grad_fn))
    True
    """
    target, ignored = step.saved.get("target"), step.saved.get("ignore_index")
    return isinstance(target, torch.Tensor) and bool((target == ignored).all())


FLAT.add(
    "empty-selection/no-elements",
    "{operation} got an empty selection, so no gradient comes back; the mean of nothing is NaN",
    "leave the term out when nothing is selected",
    on={
        "": lambda step: any(size.total == 0 for size in step.leaving if size),
        "picks_targets": all_targets_ignored,
    },
)


def _below_its_range(step: BackwardStep) -> bool:
    return bool((step.saved["self"] <= traits_of(step.kind).range[0]).any())


def _inputs_outside(step: BackwardStep) -> str:
    """How many inputs lie outside the range, if the node keeps it."""
    traits = traits_of(step.kind)
    saved = (step.saved.get(end, step.saved.get(f"{end}_val")) for end in ("min", "max"))
    low, high = saved if traits.range == (None, None) else traits.range
    values = step.saved.get("self")
    if not isinstance(values, torch.Tensor) or (low is None and high is None):
        return ""
    above, below = (torch.gt, torch.lt) if traits.clamps else (torch.ge, torch.le)
    outside = torch.zeros((), dtype=torch.bool, device=values.device)
    if low is not None:
        outside = outside | below(values, torch.as_tensor(low, device=values.device))
    if high is not None:
        outside = outside | above(values, torch.as_tensor(high, device=values.device))
    ends = f"[{_bound(low, '-∞')}, {_bound(high, '∞')}]"
    where = "outside" if traits.clamps else "at or outside"
    return f"{int(outside.sum())} of {outside.numel()} inputs lie {where} {ends}; "


def _bound(number, missing):
    if isinstance(number, torch.Tensor):
        return f"{number.item():g}" if number.numel() == 1 else "a tensor"
    return missing if number is None else f"{number:g}"


OUTSIDE_RANGE = FLAT.add(
    "outside-range",
    "{detail}{operation} is flat there, so its gradient is exactly 0",
    "keep the inputs inside, use a soft limit such as tanh or sigmoid, or let the gradient through "
    "with your own Function",
    "zero.clamped",
    on={"flat_in_part": always, "Hardswish": _below_its_range},
    detail=_inputs_outside,
)


def _inputs_not_positive(step: BackwardStep) -> str:
    values = step.saved.get("result", step.saved.get("self"))
    off = values <= 0
    count = f"{int(off.sum())} of {values.numel()} inputs are 0 or less"
    if values.dim() not in (2, 4):  # (sample, unit), (sample, channel, height, width)
        return f"{count}; "
    units = off.transpose(0, 1).flatten(1).all(1)
    never = 0 < int(units.sum()) < units.numel()
    return count + (
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


DEAD_RELU = FLAT.add(
    "dead-relu",
    "{detail}{operation} is flat there, so its gradient is 0",
    "if that is true of all samples, use LeakyReLU or GELU, another bias or initialisation, or a "
    "smaller learning rate",
    "zero.dead-relu",
    on={"relu": always, "slope_on_left": _has_slope_0},
    detail=_inputs_not_positive,
)


def _classes(step):
    """The result of a softmax, and the dimension along which it sums to 1."""
    return step.saved["result"], step.saved["dim"]


def _over_one_class(step: BackwardStep) -> bool:
    result, dim = _classes(step)
    return result.dim() > 0 and result.shape[dim] == 1


FLAT.add(
    "softmax-of-one",
    "a softmax over a dimension of size 1 is always 1",
    "take the softmax over the dimension that holds the classes; use sigmoid for a single output",
    "zero.softmax",
    on={"softmax": _over_one_class},
)


def _arriving_gradient_is_the_same_for_all_classes(step: BackwardStep) -> bool:
    result, dim = _classes(step)
    if not result.dim() or step.sample is None or step.sample.shape != result.shape:
        return False
    spread = (step.sample - step.sample.mean(dim, keepdim=True)).abs().max()
    return bool(spread <= 1e-6 * step.sample.abs().max())


CONSTANT_SUM = FLAT.add(
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


SATURATED = FLAT.add(
    "saturated/zero",
    "{detail}{operation} is nearly flat there: its derivative, times the gradient that arrives, "
    "is too small for a float",
    SMALLER_INPUTS,
    "zero.saturated",
    on={"saturates": always, "softmax": _one_class_is_certain},
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


def _count_of_zero_inputs(step: BackwardStep) -> str:
    zeros, total = _zero_inputs(step) if step.kind == "Abs" else (0, 0)
    return f"{zeros} of {total} inputs are 0; " if zeros else ""


STATIONARY = FLAT.add(
    "stationary",
    "{detail}the input lies exactly where the derivative of {operation} is 0, or where it has none "
    "and PyTorch uses 0",
    "do nothing if this is the minimum that you want; otherwise start from other values",
    "atlas.nan",
    on={
        "stationary": always,
        "stationary_at_0": _at_zero,
        "Abs": lambda step: _zero_inputs(step)[0] > 0,
    },
    detail=_count_of_zero_inputs,
)
