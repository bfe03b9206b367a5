"""Operations whose backward is written by hand, each as a class and as the function to call.

The class is a `torch.autograd.Function`: `forward` computes the value, `setup_context` keeps what
the gradient needs, `backward` turns the gradient of the output into the gradient of the input.
Notebook 04 builds one of them step by step.

A straight-through estimator (STE) has the value of one function and the gradient of another:
Bengio, Léonard, Courville 2013, https://arxiv.org/abs/1308.3432.
"""

from __future__ import annotations

from numbers import Real

import torch


class RoundSTE(torch.autograd.Function):
    """y = round(x), dL/dx = dL/dy: the gradient of the identity."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def round_ste(x: torch.Tensor) -> torch.Tensor:
    """Round to the nearest integer (halves to even) with the straight-through gradient.

    Value round(x); gradient g for upstream gradient g. Any shape, any floating-point dtype;
    integers and other types raise TypeError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 0.6], requires_grad=True)
    >>> torch.autograd.grad(round_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    return RoundSTE.apply(_floating(x, "round_ste"))


class FloorSTE(torch.autograd.Function):
    """y = floor(x), dL/dx = dL/dy: the gradient of the identity."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.floor()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def floor_ste(x: torch.Tensor) -> torch.Tensor:
    """Round down with the straight-through gradient.

    Value floor(x); gradient g for upstream gradient g. Any shape, any floating-point dtype;
    integers and other types raise TypeError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(floor_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    return FloorSTE.apply(_floating(x, "floor_ste"))


class CeilSTE(torch.autograd.Function):
    """y = ceil(x), dL/dx = dL/dy: the gradient of the identity."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.ceil()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def ceil_ste(x: torch.Tensor) -> torch.Tensor:
    """Round up with the straight-through gradient.

    Value ceil(x); gradient g for upstream gradient g. Any shape, any floating-point dtype;
    integers and other types raise TypeError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(ceil_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    return CeilSTE.apply(_floating(x, "ceil_ste"))


class SignSTE(torch.autograd.Function):
    """y = sign(x), dL/dx = dL/dy where |x| ≤ 1 and 0 elsewhere."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        # where, not a product: 0 * inf would be NaN
        return torch.where(x.abs() <= 1, grad_output, 0)


def sign_ste(x: torch.Tensor) -> torch.Tensor:
    """Take the sign (0 at 0) with the clipped straight-through gradient.

    Value sign(x); gradient g where |x| ≤ 1, both bounds too, else 0, for upstream gradient g. Any
    shape, any floating-point dtype; integers and other types raise TypeError. Source: Courbariaux
    et al. 2016, https://arxiv.org/abs/1602.02830.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(sign_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 0.]),)
    """
    return SignSTE.apply(_floating(x, "sign_ste"))


class ClampSTE(torch.autograd.Function):
    """y = clamp(x, min, max), dL/dx = dL/dy everywhere: the gradient of the identity."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, min, max):
        return x.clamp(min, max)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None  # one answer per input of forward


def clamp_ste(x: torch.Tensor, min: float | None = None, max: float | None = None) -> torch.Tensor:
    """Clamp to [min, max] with the straight-through gradient, outside the range too.

    Value min(max(x, min), max); gradient g for upstream gradient g. Any shape, any floating-point
    dtype; other inputs raise TypeError, min > max ValueError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(clamp_ste(x, 0, 1), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    low, high = _bounds(min, max, "clamp_ste")
    return ClampSTE.apply(_floating(x, "clamp_ste"), low, high)


class Clamp(torch.autograd.Function):
    """y = clamp(x, min, max), dL/dx = dL/dy · (1 inside, 0 outside, bound_gradient at a bound)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, min, max, bound_gradient):
        return x.clamp(min, max)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.min, ctx.max, ctx.bound_gradient = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (ctx.min <= x) & (x <= ctx.max)
        at_bound = ((x == ctx.min) | (x == ctx.max)) & x.isfinite()  # infinity is no bound
        grad_at_bound = ctx.bound_gradient * grad_output if ctx.bound_gradient else 0
        grad_x = torch.where(inside, grad_output, 0)
        return torch.where(at_bound, grad_at_bound, grad_x), None, None, None


def clamp(
    x: torch.Tensor,
    min: float | None = None,
    max: float | None = None,
    *,
    bound_gradient: float,
) -> torch.Tensor:
    """Clamp to [min, max] with its true gradient, and your own choice at the two bounds.

    Value min(max(x, min), max); for upstream gradient g the gradient is g inside, 0 outside and
    bound_gradient · g exactly at a bound, where every number from 0 to 1 is a subgradient.
    `torch.clamp` makes this choice for you, and changed it with torch 2.14. Any shape, any
    floating-point dtype; other inputs raise TypeError, min > max or a bound_gradient other than
    0, 0.5 and 1 ValueError. Source: https://docs.pytorch.org/docs/stable/generated/torch.clamp.html

    >>> x = torch.tensor([0.4, 1.0, 1.6], requires_grad=True)
    >>> torch.autograd.grad(clamp(x, 0, 1, bound_gradient=0.5).sum(), x)
    (tensor([1.0000, 0.5000, 0.0000]),)
    """
    low, high = _bounds(min, max, "clamp")
    if bound_gradient not in (0, 0.5, 1):
        raise ValueError(f"clamp needs bound_gradient 0, 0.5 or 1, got {bound_gradient!r}")
    return Clamp.apply(_floating(x, "clamp"), low, high, bound_gradient)


def _floating(x, name):
    if not isinstance(x, torch.Tensor):
        raise TypeError(
            f"{name} needs a floating-point tensor, got {type(x).__name__}: "
            "wrap numbers with torch.tensor(...)"
        )
    if not x.is_floating_point():
        raise TypeError(
            f"{name} needs a floating-point tensor, got {x.dtype}: "
            "gradients exist only for real numbers, convert with x.float()"
        )
    return x


def _bounds(low, high, name):
    for label, bound in (("min", low), ("max", high)):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, Real)):
            raise TypeError(
                f"{name} needs a number or None as {label}, got {type(bound).__name__}: "
                "for a tensor with one element pass its .item()"
            )
    if low is None and high is None:
        raise ValueError(f"{name} needs min, max or both, got neither")
    low = -torch.inf if low is None else low
    high = torch.inf if high is None else high
    if not low <= high:  # also catches NaN
        remedy = "swap them" if low > high else "NaN is no bound"
        raise ValueError(f"{name} needs min ≤ max, got min={low} and max={high}: {remedy}")
    return low, high
