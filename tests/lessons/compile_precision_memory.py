"""Right and wrong answers on the memory of your own Function."""

import torch
from answers import function
from torch.autograd import Function

from helpers.functions import sign_ste


def inside(x):
    return x.abs() <= 1


def masked(g, mask):
    return torch.where(mask, g, 0)


class Hidden(Function):
    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.inside = inside(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return masked(grad_output, ctx.inside)


def frugal(backward, save=inside, forward=torch.sign):
    return function(lambda x: forward(x), backward, save)


def copied_sign(x, proxy):
    y = proxy(x)
    y.detach().copy_(x.sign())
    return y


RIGHT = {
    "compile_precision_memory.1": {
        "made in setup_context": frugal(masked),
        "where, without a class": lambda x: copied_sign(
            x, lambda x: torch.where(x.abs() <= 1, x, 0)
        ),
    }
}

WRONG = {
    "compile_precision_memory.1": {
        "keeps x": (sign_ste, "yours 4 bytes … A bool is enough"),
        "a product": (
            frugal(lambda g, mask: g * mask),
            "x = -2, grad_output inf: yours nan … 0 · inf",
        ),
        "strictly inside": (
            frugal(masked, save=lambda x: x.abs() < 1),
            "x = -1 … yours 0, expected -2 … bounds",
        ),
        "hidden in ctx": (Hidden.apply, "yours 0 bytes … ctx.save_for_backward"),
        "straight through": (frugal(lambda g, mask: g * 1), "Outside of -1 to 1 the gradient is 0"),
        "torch's own": (torch.sign, "torch's own gradient of sign."),
        "no zero": (
            frugal(masked, forward=lambda x: torch.where(x >= 0, 1.0, -1.0).to(x.dtype)),
            "x = 0: yours 1, expected 0",
        ),
    }
}
