"""Sign and clamp: flat on the outside, with or without a gradient there."""

import torch
import torch.nn.functional as F
from torch.autograd import Function

from helpers.functions.anywhere import apply_anywhere, identity
from helpers.functions.arithmetic import where_within
from helpers.functions.checks import floating, real_number


class SignSTE(Function):
    """y = sign(x), dL/dx = dL/dy where |x| ≤ 1 and 0 elsewhere."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return where_within(grad_output, x, -1, 1)


def sign_ste(x: torch.Tensor) -> torch.Tensor:
    """Take the sign (0 at 0) with the clipped straight-through gradient.

    Value sign(x); gradient g where |x| ≤ 1, bounds included, else 0, for upstream gradient g. Any
    shape, any floating-point dtype; integers and other types raise TypeError. Source: Courbariaux
    et al. 2016, https://arxiv.org/abs/1602.02830.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(sign_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 0.]),)
    """
    return apply_anywhere(SignSTE, floating(x, "sign_ste"), proxy=sign_proxy)


class ClampSTE(Function):
    """y = clamp(x, low, high), dL/dx = dL/dy everywhere."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, low, high):
        return x.clamp(low, high)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass  # backward needs nothing

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None


def clamp_ste(x: torch.Tensor, min: float | None = None, max: float | None = None) -> torch.Tensor:
    """Clamp to [min, max] with the straight-through gradient, outside the range too.

    Value min(max(x, min), max); gradient g for upstream gradient g. Any shape, any floating-point
    dtype; other inputs raise TypeError, min > max ValueError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(clamp_ste(x, 0, 1), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    low, high = _checked_bounds(min, max, "clamp_ste")
    return apply_anywhere(ClampSTE, floating(x, "clamp_ste"), low, high, proxy=identity)


class Clamp(Function):
    """y = clamp(x, low, high), dL/dx = dL/dy · (1 inside, 0 outside, at_bound at a bound)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, low, high, at_bound):
        return x.clamp(low, high)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.low, ctx.high, ctx.at_bound = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = where_within(grad_output, x, ctx.low, ctx.high, ctx.at_bound)
        return grad_x, None, None, None


def clamp(
    x: torch.Tensor, min: float | None = None, max: float | None = None, *, bound_gradient: float
) -> torch.Tensor:
    """Clamp to [min, max] with its true gradient, and your own choice at the two bounds.

    Value min(max(x, min), max); for upstream gradient g the gradient is g inside, 0 outside and
    bound_gradient · g exactly at a bound, where every number from 0 to 1 is a valid choice.
    `torch.clamp` makes this choice for you, and changed it with torch 2.14. Any shape, any
    floating-point dtype; other inputs raise TypeError, min > max or a bound_gradient other than
    0, 0.5 and 1 ValueError. Source: https://docs.pytorch.org/docs/stable/generated/torch.clamp.html

    >>> x = torch.tensor([0.4, 1.0, 1.6], requires_grad=True)
    >>> torch.autograd.grad(clamp(x, 0, 1, bound_gradient=0.5).sum(), x)
    (tensor([1.0000, 0.5000, 0.0000]),)
    """
    low, high = _checked_bounds(min, max, "clamp")
    at_bound = real_number(bound_gradient, "bound_gradient", "clamp")
    if at_bound not in (0, 0.5, 1):
        raise ValueError(f"clamp needs bound_gradient 0, 0.5 or 1, got {bound_gradient!r}")
    floating(x, "clamp")
    two_bounds = -torch.inf < low and high < torch.inf
    if at_bound == 0 and two_bounds and x.dtype in (torch.float32, torch.float64):
        return F.hardtanh(x, low, high)  # the same, without the cost of a Function
    return apply_anywhere(Clamp, x, low, high, at_bound, proxy=clamp_proxy)


def _checked_bounds(low, high, name):
    if low is None and high is None:
        raise ValueError(f"{name} needs min, max or both, got neither")
    low = -torch.inf if low is None else real_number(low, "min", name)
    high = torch.inf if high is None else real_number(high, "max", name)
    if not low <= high:  # also catches NaN
        remedy = "swap them" if low > high else "NaN is not a bound"
        raise ValueError(f"{name} needs min ≤ max, got min={low:g} and max={high:g}: {remedy}")
    return low, high


# ---- proxies: plain functions that torch differentiates to the same gradients, for apply_anywhere


def sign_proxy(x: torch.Tensor) -> torch.Tensor:
    """clamp(x, −1, 1), with gradient 1 at both bounds."""
    return torch.where(x.abs() <= 1, x, x.sign())


def clamp_proxy(x: torch.Tensor, low: float, high: float, at_bound: float) -> torch.Tensor:
    """clamp(x, low, high), with gradient at_bound at both bounds."""
    is_bound = ((x == low) | (x == high)) & x.isfinite()  # an infinite bound does not limit x
    partly = x.detach()
    if at_bound:  # 0 · inf would be NaN
        partly = at_bound * x + (1 - at_bound) * partly
    flat_outside = torch.where((low <= x) & (x <= high), x, x.detach().clamp(low, high))
    return torch.where(is_bound, partly, flat_outside)
