"""Right and wrong answers on the memory of your own Function."""

import torch
from torch.autograd import Function

from helpers.functions import sign_ste

from .notebook_14 import function


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


class TwoResults(Function):
    @staticmethod
    def forward(x):
        return x.sign(), inside(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad_output, _):
        return masked(grad_output, *ctx.saved_tensors)


def frugal(backward, save=inside, forward=torch.sign):
    return function(lambda x: forward(x), backward, save)


class OldFormSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(inside(x))
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        return masked(grad_output, *ctx.saved_tensors)


class Packed(Function):
    """Eight answers in a byte."""

    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        bits = torch.nn.functional.pad(inside(x).byte(), (0, -len(x) % 8)).view(-1, 8)
        ctx.save_for_backward((bits << torch.arange(8)).sum(1).byte())

    @staticmethod
    def backward(ctx, grad_output):
        (packed,) = ctx.saved_tensors
        bits = (packed[:, None] >> torch.arange(8)) & 1
        return masked(grad_output, bits.flatten()[: len(grad_output)].bool())


def copied_sign(x, proxy):
    y = proxy(x)
    y.detach().copy_(x.sign())
    return y


RIGHT = {
    "15.1": {
        "made in setup_context": frugal(masked),
        "a second output": lambda x: TwoResults.apply(x)[0],
        "the old form": OldFormSign.apply,
        "bytes": frugal(lambda g, mask: masked(g, mask > 0), save=lambda x: inside(x).byte()),
        "bits": Packed.apply,
        "masked_fill": frugal(lambda g, mask: g.masked_fill(~mask, 0)),
        "where, without a class": lambda x: copied_sign(
            x, lambda x: torch.where(x.abs() <= 1, x, 0)
        ),
        "masked_fill, without a class": lambda x: copied_sign(
            x, lambda x: x.masked_fill(x.abs() > 1, 0)
        ),
        "with vmap": function(lambda x: x.sign(), masked, inside, generate_vmap_rule=True),
    },
}

WRONG = {
    "15.1": {
        "keeps x": (sign_ste, "yours 4 bytes … x itself is kept"),
        "keeps a mask of floats": (
            frugal(lambda g, mask: masked(g, mask > 0), save=lambda x: inside(x).float()),
            "yours 4 bytes … bools",
        ),
        "keeps a mask of integers": (
            frugal(lambda g, mask: masked(g, mask > 0), save=lambda x: inside(x).long()),
            "yours 8 bytes for each number",
        ),
        "a product": (
            frugal(lambda g, mask: g * mask),
            "x = -2, grad_output inf: yours nan … 0 · inf",
        ),
        "NaN and infinity replaced": (
            frugal(lambda g, mask: (g * mask).nan_to_num()),
            "x = -1, grad_output -inf: yours -3.40282e+38",
        ),
        "strictly inside": (
            frugal(masked, save=lambda x: x.abs() < 1),
            "x = -1 … yours 0, expected -2 … bounds",
        ),
        "hidden in ctx": (Hidden.apply, "yours 0 bytes … ctx.save_for_backward"),
        "the other way round": (
            frugal(lambda g, mask: masked(g, ~mask)),
            "It is the other way round",
        ),
        "one side": (frugal(masked, save=lambda x: x <= 1), "Only one of the two sides is cut."),
        "straight through": (frugal(lambda g, mask: g * 1), "Outside of -1 to 1 the gradient is 0"),
        "torch's own": (torch.sign, "torch's own gradient of sign."),
        "no zero": (
            frugal(masked, forward=lambda x: torch.where(x >= 0, 1.0, -1.0).to(x.dtype)),
            "x = 0: yours 1, expected 0",
        ),
        "both results": (TwoResults.apply, "a tuple of 2"),
    },
}
