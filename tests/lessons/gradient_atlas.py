"""Right and wrong answers to the exercises on default gradients."""

import torch
from torch.autograd import Function


def both_zero(a, b):
    return (a == 0) & (b == 0)


def either_zero(a, b):
    zero = (a == 0) | (b == 0)
    return torch.where(zero, torch.hypot(a, b).detach(), torch.hypot(torch.where(zero, 1, a), b))


class Masked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.saved_tensors[0] != 0)


# ---- right ones


def safe(a, b):
    return torch.hypot(torch.where(both_zero(a, b), 1, a), b)


def in_place(a, b):
    length, some = torch.zeros_like(a), ~both_zero(a, b)
    length[some] = torch.hypot(a[some], b[some])
    return length


RIGHT = {
    "gradient_atlas.1": {
        "where twice": lambda a, b: torch.where(both_zero(a, b), 0, safe(a, b)),
        "some elements": in_place,
    },
    "gradient_atlas.2": {
        "two halves": lambda x: torch.relu(x) - torch.relu(-x),
        "size times sign": lambda x: x.abs() * x.sign(),
    },
}


WRONG = {
    "gradient_atlas.1": {
        "plain hypot": (torch.hypot, "yours nan, expected 0 … The gradient of hypot is a / length"),
        "a root": (lambda a, b: torch.sqrt(a * a + b * b), "A root is infinitely steep at 0"),
        "a power": (lambda a, b: (a * a + b * b) ** 0.5, "The power 0.5 is infinitely steep"),
        "an epsilon under the root": (
            lambda a, b: torch.sqrt(a * a + b * b + 1e-12),
            "value at a = 0, b = 0: yours 1e-06, expected 0 … An epsilon",
        ),
        "where afterwards": (
            lambda a, b: torch.where(both_zero(a, b), 0, torch.hypot(a, b)),
            "yours nan, expected 0 … The branch that where leaves out",
        ),
        "without the second where": (
            lambda a, b: torch.hypot(torch.where(both_zero(a, b), 1, a), b),
            "value at a = 0, b = 0: yours 1, expected 0 … A safe input gives",
        ),
        "the larger": (
            lambda a, b: torch.maximum(a.abs(), b.abs()),
            "value at a = 3, b = 4: yours 4, expected 5 … It is the root of a² + b²",
        ),
        "0 where either is 0": (
            either_zero,
            "respect to a at a = -5, b = 0, upstream 0.5: yours 0, expected -0.5 … Where not both",
        ),
    },
    "gradient_atlas.2": {
        "x itself": (
            lambda x: 1 * x,
            "gradient at x = 0, upstream -4: yours -4, expected 0 … There it is the slope of the",
        ),
        "halves that keep their slope": (
            lambda x: x.masked_fill(x < 0, 0) + x.masked_fill(x > 0, 0),
            "yours -8, expected 0 … Each of the two pieces passes on its whole slope",
        ),
        "one half": (torch.relu, "value at x = -2: yours 0, expected -2."),
        "a root": (
            lambda x: torch.sqrt(x * x) * x.sign(),
            "yours nan, expected 0 … Some step of backward",
        ),
        "cut at 0": (lambda x: torch.where(x == 0, x.detach(), x), "it cuts the graph with detach"),
        "a Function": (Masked.apply, "a Function of your own"),
    },
}
