"""Conditions under which a reason holds, and counts of a case in words. Each takes a step."""

from __future__ import annotations

import torch

from autograd_surprises.doctor.steps import Step

PRODUCTS = {"Mul", "Mm", "Addmm", "Bmm", "Baddbmm", "Mv", "Addmv", "Dot", "Linear", "Convolution",
            "MkldnnConvolution", "CudnnConvolution"}  # fmt: skip
FACTORS = {"self", "other", "mat1", "mat2", "mat", "vec", "weight", "input", "tensor1", "tensor2",
           "batch1", "batch2"}  # fmt: skip


def factors(step: Step):
    """The tensors that the gradient may be multiplied by."""
    return [value for name, value in step.tensors().items() if name in FACTORS]


def own(step: Step):
    """Is it a torch.autograd.Function that the user wrote?

    >>> round_node = Step(torch.ones(1, requires_grad=True).round().grad_fn, "RoundBackward0", ())
    >>> own(round_node)
    False
    """
    return step.own is not None and not step.own.__module__.startswith("torch.")


def rounds(step: Step):
    """Is it a division that rounds?"""
    return isinstance(step.saved.get("rounding_mode"), str)


def nearest(step: Step):
    """Does it pick the nearest pixel?"""
    return step.saved.get("interpolation_mode") == 1


def empty(step: Step):
    """Did it work on no elements at all?"""
    return any(amount.total == 0 for amount in step.leaving if amount)


def all_ignored(step: Step):
    """Is every target the one that the loss ignores?"""
    target, ignored = step.saved.get("target"), step.saved.get("ignore_index", 0)
    ignored = ignored if ignored < 2**63 else ignored - 2**64  # stored without sign
    return isinstance(target, torch.Tensor) and bool((target == ignored).all())


def outside(step: Step):
    """How many inputs lie outside the range."""
    saved = step.saved
    low, high = (saved.get(end, saved.get(f"{end}_val")) for end in ("min", "max"))
    low, high = {"Hardsigmoid": (-3.0, 3.0), "Relu6": (0.0, 6.0)}.get(step.operation, (low, high))
    values = saved.get("self")
    if not isinstance(values, torch.Tensor):
        return ""
    above, below = (torch.gt, torch.lt) if "Clamp" in step.operation else (torch.ge, torch.le)
    outside = torch.zeros((), dtype=torch.bool)
    for end, beyond in ((low, below), (high, above)):
        if end is not None:
            outside = outside | beyond(values, torch.as_tensor(end))
    ends = [("-∞", "∞")[i] if end is None else _short(end) for i, end in enumerate((low, high))]
    where = "outside" if "Clamp" in step.operation else "at or outside"
    return f"{int(outside.sum())} of {outside.numel()} inputs lie {where} [{', '.join(ends)}]; "


def _short(number):
    if isinstance(number, torch.Tensor):
        return f"{number.item():g}" if number.numel() == 1 else "a tensor"
    return f"{number:g}"


def not_positive(step: Step):
    """How many inputs are 0 or less."""
    values = step.saved.get("result", step.saved.get("self"))
    return f"{int((values <= 0).sum())} of {values.numel()} inputs are 0 or less; "


def at_the_end(step: Step):
    """How many outputs have reached the end of the range."""
    result = step.saved["result"]
    ends = result.abs() == 1 if step.operation == "Tanh" else (result == 0) | (result == 1)
    return f"{int(ends.sum())} of {result.numel()} outputs are rounded to the end of its range; "


def _classes(step: Step):
    """The result of a softmax, and the dimension along which it sums to 1."""
    result, dim = step.saved["result"], step.saved["dim"]
    return result, dim if dim < result.dim() else dim - 2**64  # stored without sign


def one_class(step: Step):
    """Is it a softmax over a single class?"""
    result, dim = _classes(step)
    return result.dim() and result.shape[dim] == 1


def same_for_all_classes(step: Step):
    """Is the gradient that arrived the same for all classes?"""
    result, dim = _classes(step)
    if not result.dim() or step.sample is None or step.sample.shape != result.shape:
        return False
    spread = (step.sample - step.sample.mean(dim, keepdim=True)).abs().max()
    return bool(spread <= 1e-6 * step.sample.abs().max())


def one_sided(step: Step):
    """Is one class of a softmax as good as certain?"""
    result = step.saved["result"]
    return bool((result.exp() if step.operation == "LogSoftmax" else result).max() > 0.999)


def at_zero(step: Step):
    """Is its input exactly 0?"""
    values = step.saved.get("self")
    return isinstance(values, torch.Tensor) and not bool(values.any())


def touches_zero(step: Step) -> bool:
    """Is its input 0 in places?"""
    values = step.saved.get("self")
    return isinstance(values, torch.Tensor) and bool((values == 0).any())


def zero_inputs(step: Step) -> str:
    """How many inputs are 0."""
    values = step.saved["self"]
    return f"{int((values == 0).sum())} of {values.numel()} inputs are 0; "


def has_all_zero(step: Step):
    """Is a factor zero in every element?"""
    return any(not bool(value.any()) for value in factors(step))


def has_zero_factor(step: Step) -> bool:
    """Is it a product with a factor that is zero in every element?"""
    return step.operation in PRODUCTS and has_all_zero(step)


def has_zeros(step: Step):
    """Is it a product with zeros in a factor?"""
    return step.operation in PRODUCTS and any(bool((v == 0).any()) for v in factors(step))


def zeros(step: Step):
    """How many elements of that factor are 0."""
    factor = next(value for value in factors(step) if bool((value == 0).any()))
    return f"{int((factor == 0).sum())} of {factor.numel()} elements of a factor are 0; "


def zero_number(step: Step):
    """Is it multiplied by the number 0?"""
    numbers = [step.saved.get(name) for name in ("other", "alpha", "beta", "exponent", "p")]
    return any(type(number) in (int, float) and number == 0 for number in numbers)


def cancels(step: Step):
    """One input got fewer elements than arrived, and nearly nothing: they were added up."""
    most = max((amount.total for amount in step.arriving if amount), default=0)
    mass = sum(amount.mass for amount in step.arriving if amount)
    return any(left and 0 < left.total < most and left.mass < 1e-4 * mass for left in step.leaving)


def large(step: Step):
    """Is what arrived near the end of its type?"""
    if step.sample is None or not step.sample.is_floating_point():
        return False
    return max(amount.mass for amount in step.arriving if amount) > (
        torch.finfo(step.sample.dtype).max ** 0.5
    )


def at_the_edge_of_pow(step: Step):
    """Is a base of the power 0 or negative?"""
    base = step.saved.get("self")
    return isinstance(base, torch.Tensor) and bool((base <= 0).any())
