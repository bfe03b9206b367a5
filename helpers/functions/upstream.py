"""The identity, with the gradient scaled or reversed on its way back."""

import torch
from torch.autograd import Function

from helpers.functions.anywhere import apply_anywhere
from helpers.functions.checks import finite_number, floating


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


# ---- the proxy: a plain function that torch differentiates to the same gradient


def scale_gradient_proxy(x: torch.Tensor, factor: float) -> torch.Tensor:
    """factor · x"""
    return x * factor
