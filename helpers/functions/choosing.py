"""Choosing one of several numbers, with the gradient of a softmax."""

import torch
from torch.autograd import Function

from helpers.functions.anywhere import apply_anywhere
from helpers.functions.arithmetic import at_least_float32, divide
from helpers.functions.checks import floating, integer, real_number


class ArgmaxSTE(Function):
    """y = one-hot of argmax(x); dL/dx = (p · dL/dy − p · Σ p · dL/dy) / t, p = softmax(x / t)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, dim, temperature):
        chosen = x.argmax(dim, keepdim=True)
        zeros = torch.zeros_like(chosen, dtype=x.dtype).expand_as(x)
        return zeros.scatter(dim, chosen, 1)  # for scatter_, vmap has no rule

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.dim, ctx.temperature = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        p = softmax(x, ctx.dim, ctx.temperature)
        # torch's own kernel, in one pass
        grad_x = torch._softmax_backward_data(at_least_float32(grad_output), p, ctx.dim, p.dtype)
        return divide(grad_x, ctx.temperature).to(grad_output.dtype), None, None


def argmax_ste(logits: torch.Tensor, dim: int = -1, temperature: float = 1.0) -> torch.Tensor:
    """Choose the largest along a dimension, with the gradient of softmax(logits / temperature).

    Value: a one-hot tensor in the shape of logits, 1 at the first of the largest and 0 elsewhere;
    NaN counts as the largest, as in torch.argmax. For upstream gradient g the gradient is
    (p · g − p · Σ p · g) / temperature with p = softmax(logits / temperature), Σ along dim. With
    Gumbel noise added to the logits it is the straight-through Gumbel-softmax estimator. Any
    floating-point dtype; other inputs raise TypeError, a temperature that is not positive
    ValueError, a dimension that is not there IndexError.
    Source: Jang, Gu, Poole 2017, section 2.2, https://arxiv.org/abs/1611.01144.

    >>> logits = torch.tensor([0.0, 2.0], requires_grad=True)
    >>> torch.autograd.grad(argmax_ste(logits), logits, torch.tensor([3.0, 5.0]))
    (tensor([-0.2100,  0.2100]),)
    """
    x, dim = floating(logits, "argmax_ste"), integer(dim, "dim", "argmax_ste")
    temperature = real_number(temperature, "temperature", "argmax_ste")
    if not 1e-15 <= temperature <= 1e15:  # float32 holds a logit divided by it
        raise ValueError(
            f"argmax_ste needs a positive temperature, from 1e-15 to 1e15, got {temperature:g}"
        )
    return apply_anywhere(ArgmaxSTE, x, dim, temperature, proxy=argmax_proxy)


def softmax(x: torch.Tensor, dim: int, temperature: float) -> torch.Tensor:
    """softmax(x / temperature), in float32 at least.

    >>> softmax(torch.tensor([0.0, 2.0]), -1, 2.0)
    tensor([0.2689, 0.7311])
    """
    return divide(at_least_float32(x), temperature).softmax(dim)


# ---- the proxy: a plain function that torch differentiates to the same gradient


def argmax_proxy(x: torch.Tensor, dim: int, temperature: float) -> torch.Tensor:
    """softmax(x / temperature), in the dtype of x."""
    return softmax(x, dim, temperature).to(x.dtype)
