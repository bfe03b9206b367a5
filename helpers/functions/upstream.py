"""The identity, with the gradient scaled, reversed or clipped on its way back."""

from __future__ import annotations

import torch

from helpers.functions.checks import finite, floating, number
from helpers.functions.elementwise import StraightThrough, apply_anywhere


class ScaleGradient(StraightThrough):
    """y = x, dL/dx = factor · dL/dy."""

    examples = ((-1.0,),)

    @staticmethod
    def forward(x, factor):
        return x.clone()  # not x itself: what is done to y in place must not reach x

    @staticmethod
    def times_slope(g, factor):
        return g * factor if factor else torch.zeros_like(g)  # 0 · inf would be NaN

    @staticmethod
    def proxy(x, factor):
        return x * factor


def scale_gradient(x: torch.Tensor, factor: float) -> torch.Tensor:
    """Change nothing but the gradient, which is multiplied by a number.

    Value x; gradient factor · g for upstream gradient g, in forward mode factor · tangent. Any
    shape, any floating-point dtype; other inputs raise TypeError, a factor that is infinite or NaN
    ValueError. Source: the gradient scale of Esser et al. 2020, https://arxiv.org/abs/1902.08153.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(scale_gradient(x, 0.5), x, torch.tensor([3.0, 5.0]))
    (tensor([1.5000, 2.5000]),)
    """
    factor = finite(factor, "factor", "scale_gradient")
    return apply_anywhere(ScaleGradient, floating(x, "scale_gradient"), factor)


def reverse_gradient(x: torch.Tensor, strength: float = 1.0) -> torch.Tensor:
    """Change nothing but the gradient, which turns around: what comes before learns the opposite.

    Value x; gradient −strength · g for upstream gradient g. Any shape, any floating-point dtype;
    other inputs raise TypeError, a strength that is infinite or NaN ValueError. Source: the
    gradient reversal layer of Ganin et al. 2016, https://arxiv.org/abs/1505.07818.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(reverse_gradient(x), x, torch.tensor([3.0, 5.0]))
    (tensor([-3., -5.]),)
    """
    strength = finite(strength, "strength", "reverse_gradient")
    return apply_anywhere(ScaleGradient, floating(x, "reverse_gradient"), -strength)


class ClipGradient(StraightThrough):
    """y = x, dL/dx = clamp(dL/dy, −limit, limit)."""

    examples = ((0.5,),)

    @staticmethod
    def forward(x, limit):
        return x.clone()

    @staticmethod
    def times_slope(g, limit):
        return g.clamp(-limit, limit)

    @staticmethod
    def proxy(x, limit):
        y = x.clone()
        if y.requires_grad:
            y.register_hook(lambda g: g.clamp(-limit, limit))
        return y


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
    limit = number(limit, "limit", "clip_gradient")
    if not limit > 0:
        raise ValueError(f"clip_gradient needs a positive limit, got {limit:g}")
    return apply_anywhere(ClipGradient, floating(x, "clip_gradient"), limit)
