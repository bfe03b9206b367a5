"""Wrong answers to the exercises on writing a backward."""

import torch
from torch.autograd import Function


def function(forward, backward):
    """A Function whose inputs are all saved, as a plain function."""

    class Made(Function):
        @staticmethod
        def forward(*inputs):
            return forward(*inputs)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad_output):
            return backward(grad_output, *ctx.saved_tensors)

    return Made.apply


def clamped(x):
    return x.clamp(0, 1)


def inside(x):
    return (x >= 0) & (x <= 1)


def forgot_to_return(g, x):
    torch.where(inside(x), g, 0.1 * g)


def in_place(g, x):
    g[~inside(x)] *= 0.1
    return g


def rounded_times(x, weight):
    return x.round() * weight


def squared(x):
    return x**2


WRONG = {
    "override_backward.1": {
        "ignores grad_output": (
            function(clamped, lambda g, x: torch.where(inside(x), 1.0, 0.1)),
            "backward ignores grad_output",
        ),
        "bounds count as outside": (
            function(clamped, lambda g, x: torch.where((x > 0) & (x < 1), g, 0.1 * g)),
            "The two bounds count as inside",
        ),
        "torch's own clamp": (lambda x: x.clamp(0, 1), "is it torch's own gradient?"),
        "straight through": (function(clamped, lambda g, x: g * 1), "Outside, a tenth"),
        "the value leaks": (
            function(lambda x: torch.where(inside(x), x, 0.1 * x), lambda g, x: g),
            "Only the gradient leaks",
        ),
        "writes into its input": (
            lambda x: function(lambda x: x.data.clamp_(0, 1).clone(), lambda g, x: g)(x),
            "writes into its input",
        ),
        "writes into grad_output": (function(clamped, in_place), "writes into grad_output"),
        "forgets to return": (
            function(clamped, forgot_to_return),
            "Made.backward returned nothing: end it with `return`",
        ),
        "a bare 0.1": (
            function(clamped, lambda g, x: torch.where(inside(x), g, 0.1)),
            "yours 0.1, expected 0.3 … Outside … 0.1 alone: you dropped grad_output",
        ),
        "no Function": (lambda x: x.detach().clamp(0, 1), "the result has no grad_fn"),
    },
    "override_backward.2": {
        "swapped": (
            function(rounded_times, lambda g, x, w: (g * x.round(), g * w)),
            "the two gradients are swapped",
        ),
        "weight forgotten": (
            function(rounded_times, lambda g, x, w: (g * w, None)),
            "gradient with respect to weight: yours None",
        ),
        "x instead of round(x)": (
            function(rounded_times, lambda g, x, w: (g * w, g * x)),
            "gradient with respect to weight … multiplied by round(x)",
        ),
        "factor forgotten": (
            function(rounded_times, lambda g, x, w: (g * 1, g * x.round())),
            "gradient with respect to x … factor weight is missing",
        ),
        "round's own gradient": (rounded_times, "yours 0 … round's own gradient"),
    },
    "override_backward.3": {
        "still ignores": (function(squared, lambda g, x: 2 * x), "backward ignores grad_output"),
        "hands it on": (function(squared, lambda g, x: g * 1), "The factor 2 * x is lost"),
        "two forgotten": (function(squared, lambda g, x: x * g), "The factor 2 is lost"),
        "detached": (
            function(squared, lambda g, x: 2 * x.detach() * g),
            "the second derivative is wrong",
        ),
        "no Function": (lambda x: x**2, "torch's own operations: repair the backward"),
    },
}
