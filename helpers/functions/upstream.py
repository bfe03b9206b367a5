"""The identity, with the gradient scaled, reversed or clipped on its way back."""

import torch
from torch.autograd import Function

from helpers.functions.anywhere import apply_anywhere
from helpers.functions.checks import finite_number, floating, real_number


class ScaleGradient(Function):
    """y = x, dL/dx = factor · dL/dy."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return x.clone()  # not x itself: a change of y in place must not reach x

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor = inputs

    @staticmethod
    def backward(ctx, grad_output):
        if ctx.factor == 0:  # 0 · inf would be NaN
            return torch.zeros_like(grad_output), None
        return grad_output * ctx.factor, None


def scale_gradient(x: torch.Tensor, factor: float) -> torch.Tensor:
    """Change nothing but the gradient, which is multiplied by a number.

    Value x; gradient factor · g for upstream gradient g, in forward mode factor · tangent. Any
    shape, any floating-point dtype; other inputs raise TypeError, a factor that is infinite or NaN
    ValueError. Source: the gradient scale of Esser et al. 2020, https://arxiv.org/abs/1902.08153.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(scale_gradient(x, 0.5), x, torch.tensor([3.0, 5.0]))
    (tensor([1.5000, 2.5000]),)
    """
    factor = finite_number(factor, "factor", "scale_gradient")
    x = floating(x, "scale_gradient")
    return apply_anywhere(ScaleGradient, x, factor, proxy=scale_gradient_proxy)


def reverse_gradient(x: torch.Tensor, strength: float = 1.0) -> torch.Tensor:
    """Identity forward; negates the gradient, so that the layers before it learn the opposite.

    Value x; gradient −strength · g for upstream gradient g. Any shape, any floating-point dtype;
    other inputs raise TypeError, a strength that is infinite or NaN ValueError. Source: the
    gradient reversal layer of Ganin et al. 2016, https://arxiv.org/abs/1505.07818.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(reverse_gradient(x), x, torch.tensor([3.0, 5.0]))
    (tensor([-3., -5.]),)
    """
    strength = finite_number(strength, "strength", "reverse_gradient")
    x = floating(x, "reverse_gradient")
    return apply_anywhere(ScaleGradient, x, -strength, proxy=scale_gradient_proxy)


class ClipGradient(Function):
    """y = x, dL/dx = clamp(dL/dy, −limit, limit)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, limit):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.limit = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


def clip_gradient(x: torch.Tensor, limit: float) -> torch.Tensor:
    """Change nothing but the gradient, which is clamped to [−limit, limit], number by number.

    Value x; gradient clamp(g, −limit, limit) for upstream gradient g. Clamping is not linear in g,
    so no function has this gradient: forward mode passes tangents as they are. There, and while
    torch.compile traces, a hook clips; inside vmap no hook is called, and torch 2.6 compiles none.
    Any shape, any floating-point dtype; other inputs raise TypeError, a limit that is not positive
    ValueError.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(clip_gradient(x, 4), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 4.]),)
    """
    limit = real_number(limit, "limit", "clip_gradient")
    if not limit > 0:
        raise ValueError(f"clip_gradient needs a positive limit, got {limit:g}")
    x = floating(x, "clip_gradient")
    return apply_anywhere(ClipGradient, x, limit, proxy=clip_gradient_proxy)


# ---- proxies: plain functions that torch differentiates to the same gradients, for apply_anywhere


def scale_gradient_proxy(x: torch.Tensor, factor: float) -> torch.Tensor:
    """factor · x"""
    return x * factor


def clip_gradient_proxy(x: torch.Tensor, limit: float) -> torch.Tensor:
    """x, with a hook that clamps the upstream gradient: no function of x has this gradient."""
    y = x.clone()
    if y.requires_grad:
        y.register_hook(lambda g: g.clamp(-limit, limit))
    return y
