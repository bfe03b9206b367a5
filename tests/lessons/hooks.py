"""Right and wrong answers on a hook."""

import torch
from torch.autograd import Function


def hooked(hook, copy=torch.Tensor.clone):
    def clipped(x, limit):
        y = copy(x)
        y.register_hook(lambda gradient: hook(gradient, limit))
        return y

    return clipped


def clamp(gradient, limit):
    return gradient.clamp(-limit, limit)


class ClampsGradient(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-ctx.limit, ctx.limit), None


RIGHT = {"hooks.1": {"a clone": hooked(clamp), "a Function": ClampsGradient.apply}}

WRONG = {
    "hooks.1": {
        "a hook on x itself": (hooked(clamp, copy=lambda x: x), "x.grad … The hook is on x itself"),
        "the hook returns nothing": (
            hooked(lambda gradient, limit: None),
            "x.grad … a hook has to return the new gradient",
        ),
        "the hook writes in place": (
            hooked(lambda gradient, limit: gradient.clamp_(-limit, limit)),
            "neighbour … clamp, not clamp_",
        ),
        "clipped by norm": (
            hooked(lambda gradient, limit: gradient * (limit / gradient.norm()).clamp(max=1)),
            "x.grad … That is clipping by norm",
        ),
        "the value is clamped": (
            lambda x, limit: x.clamp(-limit, limit),
            "value … expected the gradient",
        ),
        "cut off from x": (
            lambda x, limit: hooked(clamp)(x.detach().requires_grad_(), limit),
            "x.grad … The path through the result is cut.",
        ),
        "no history": (lambda x, limit: x.detach(), "has no history: no gradient reaches x"),
    }
}
