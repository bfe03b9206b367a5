"""Right and wrong answers on the report card, and on a gradient without a class."""

import torch
from answers import function
from torch.autograd import Function

from helpers.functions import apply_anywhere, value_with_gradient_of


def gate(x):
    return x * torch.sigmoid(1.702 * x)


def slope(x):
    sigmoid = torch.sigmoid(1.702 * x)
    return sigmoid + 1.702 * x * sigmoid * (1 - sigmoid)


def repaired(backward, **members):
    return function(gate, backward, **{"generate_vmap_rule": True, **members})


class Gate(Function):
    @staticmethod
    def forward(x):
        return gate(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(slope(*inputs))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(*ctx.saved_tensors)


class InputAndSigmoid(Gate):
    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x, torch.sigmoid(1.702 * x))

    @staticmethod
    def backward(ctx, grad_output):
        x, sigmoid = ctx.saved_tensors
        return grad_output * (sigmoid + 1.702 * x * sigmoid * (1 - sigmoid))


class OldForm(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return gate(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * slope(*ctx.saved_tensors)


def step(x):
    return (x >= 0).to(x.dtype)


def trick(x):
    t = torch.relu(x)
    return t + (step(x) - t).detach()


def trick_the_other_way(x):
    t = torch.relu(x)
    return step(x) + (t - t.detach())


def copied(x, proxy=lambda x: torch.relu(x).clone()):
    y = proxy(x)
    y.detach().copy_(step(x))
    return y


def copied_into_data(x, proxy=lambda x: torch.relu(x).clone()):
    y = proxy(x)
    y.data.copy_(step(x))
    return y


def copied_without_grad(x):
    y = torch.relu(x).clone()
    with torch.no_grad():
        y.copy_(step(x))
    return y


def one_by_one(x):
    return torch.stack([copied(number) if number >= 0 else torch.relu(number) for number in x])


class StepLikeRelu(Function):
    @staticmethod
    def forward(x):
        return step(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0)


# ---- right ones, besides the folded solution


class WithVmap(Gate):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * slope(*ctx.saved_tensors)

    @staticmethod
    def vmap(info, in_dims, x):
        return WithVmap.apply(x), in_dims[0]


RIGHT = {
    "the_report_card.1": {
        "a product": repaired(lambda g, x: g * slope(x)),
        "as in helpers.functions": lambda x: apply_anywhere(WithVmap, x, proxy=gate),
    },
    "the_report_card.2": {
        "a clone": copied,
        "from helpers.functions": lambda x: value_with_gradient_of(step(x), torch.relu(x)),
    },
}

WRONG = {
    "the_report_card.1": {
        "as it was": (Gate.apply, "the row 'grad_output untouched' is silently wrong"),
        "x and its sigmoid": (InputAndSigmoid.apply, "from the saved x itself"),
        "no vmap": (
            repaired(lambda g, x: g * slope(x), generate_vmap_rule=False),
            "the row 'vmap' is refused … generate_vmap_rule = True",
        ),
        "plain autograd": (gate, "kept for backward: yours 8 bytes for each number"),
        "old form": (OldForm.apply, "What to change: split forward(ctx, ...)"),
        "factor lost": (
            repaired(lambda g, x: g * torch.sigmoid(1.702 * x)),
            "factor of grad_output",
        ),
        "another gate": (torch.nn.functional.silu, "The 1.702 is missing."),
        "the class itself": (Gate, "pass Gate.apply"),
    },
    "the_report_card.2": {
        "the one-line trick": (trick, "x = 300 (bfloat16): yours 0, expected 1 … rounded away"),
        "the trick the other way": (trick_the_other_way, "x = inf: yours nan … inf - inf"),
        "bools": (lambda x: x >= 0, "value: yours is bool, expected float32"),
        "0 at 0": (lambda x: torch.where(x > 0, copied(x), 0.0 * x), "x = 0: yours 0, expected 1"),
        "into relu's own result": (
            lambda x: copied(x, torch.relu),
            "backward raises … torch.relu(x).clone()",
        ),
        "into relu's own result, unseen": (
            lambda x: copied_into_data(x, torch.relu),
            "x = 0 … yours 4, expected 0 … .data",
        ),
        "through .data": (copied_into_data, "allowed. Write into y.detach() instead."),
        "copied openly": (
            lambda x: torch.relu(x).clone().copy_(step(x)),
            "Autograd recorded the copy",
        ),
        "under no_grad": (copied_without_grad, "torch.func.jvp at x = 0.3 … torch.no_grad()"),
        "gradient of x": (lambda x: copied(x, torch.clone), "That is the gradient of x itself."),
        "a class": (StepLikeRelu.apply, "they come from a class, StepLikeRelu."),
        "one by one": (one_by_one, "a Tensor in some data-dependent control flow."),
    },
}
