"""Right and wrong answers to the exercises on what your own gradient survives."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from helpers.functions import apply_anywhere, sign_ste, value_with_gradient_of


def function(forward, backward, save=None, **members):
    """A Function of x; `save(x)` makes the tensor for backward, and without it that is x."""

    class Made(Function):
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(save(*inputs) if save else inputs[0])

    Made.forward = staticmethod(forward)
    Made.backward = staticmethod(lambda ctx, g: backward(g, *ctx.saved_tensors))
    for name, member in members.items():
        setattr(Made, name, member)
    return Made.apply


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


class Attribute(Gate):
    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx, inputs, output):
        (ctx.x,) = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * slope(ctx.x)


class Once(InputAndSigmoid):
    backward = staticmethod(once_differentiable(InputAndSigmoid.backward))


class OldForm(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return gate(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * slope(*ctx.saved_tensors)


class WrongForward(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return gate(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * slope(*ctx.saved_tensors)

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * torch.sigmoid(*ctx.saved_tensors)


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


class WithJvp(WrongForward):
    @staticmethod
    def jvp(ctx, tangent):
        return tangent * slope(*ctx.saved_tensors)


class OldFormSign(OldForm):
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
    "14.1": {
        "a product": repaired(lambda g, x: g * slope(x)),
        "in place in a copy": repaired(lambda g, x: g.clone().mul_(slope(x))),
        "a vmap of its own": WithVmap.apply,
        "forward mode, too": WithJvp.apply,
        "as in helpers.functions": lambda x: apply_anywhere(WithVmap, x, proxy=gate),
    },
    "14.2": {
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
    "14.3": {
        "a clone": copied,
        "a sum": lambda x: copied(x, lambda x: torch.relu(x) + 0),
        "where": lambda x: copied(x, lambda x: torch.where(x > 0, x, 0)),
        "a product": lambda x: copied(x, lambda x: x * (x > 0)),
        "from helpers.functions": lambda x: value_with_gradient_of(step(x), torch.relu(x)),
    },
}

WRONG = {
    "14.1": {
        "as it was": (Gate.apply, "the row 'grad_output untouched' is silently wrong"),
        "only no longer in place": (
            repaired(torch.mul, save=slope),
            "the row 'double backward' is silently wrong",
        ),
        "x and its sigmoid": (InputAndSigmoid.apply, "from the saved x itself"),
        "no vmap": (
            repaired(lambda g, x: g * slope(x), generate_vmap_rule=False),
            "the row 'vmap' is refused … generate_vmap_rule = True",
        ),
        "plain autograd": (gate, "kept for backward beside x: yours 4 bytes for each number"),
        "an attribute of ctx": (Attribute.apply, "the row 'in-place safety' is silently wrong"),
        "detached": (repaired(lambda g, x: g * slope(x.detach())), "constant"),
        "once differentiable": (
            Once.apply,
            "the row 'double backward' is silently wrong … without @once_differentiable",
        ),
        "old form": (OldForm.apply, "What to change: split forward(ctx, ...)"),
        "factor lost": (
            repaired(lambda g, x: g * torch.sigmoid(1.702 * x)),
            "factor of grad_output",
        ),
        "ignores grad_output": (
            repaired(lambda g, x: slope(x)),
            "the row 'linear in grad_output' is silently wrong",
        ),
        "a jvp that is wrong": (WrongForward.apply, "the row 'jvp' is silently wrong"),
        "another gate": (torch.nn.functional.silu, "The 1.702 is missing."),
        "no gate": (lambda x: torch.sigmoid(1.702 * x), "The factor x is missing."),
        "the class itself": (Gate, "pass Gate.apply"),
        "float32 for all": (
            lambda x: gate(x.float()).to(x.dtype) if x.dtype != torch.float64 else gate(x.float()),
            "the row 'output dtype' is silently wrong",
        ),
    },
    "14.2": {
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
    "14.3": {
        "the one-line trick": (trick, "x = 300 (bfloat16): yours 0, expected 1 … rounded away"),
        "the trick the other way": (trick_the_other_way, "x = inf: yours nan … inf - inf"),
        "a leaf": (
            lambda x: step(x.detach()).requires_grad_(),
            "no path leads from the result back to x",
        ),
        "bools": (lambda x: x >= 0, "value: yours is bool, expected float32"),
        "integers": (lambda x: torch.where(x >= 0, 1, 0), "yours is int64, expected float32"),
        "0 at 0": (lambda x: torch.where(x > 0, copied(x), 0.0 * x), "x = 0: yours 0, expected 1"),
        "into relu's own result": (
            lambda x: copied(x, torch.relu),
            "backward raises … torch.relu(x).clone()",
        ),
        "into relu's own result, unseen": (
            lambda x: copied_into_data(x, torch.relu),
            "x = 0 … yours 4, expected 0 … .data",
        ),
        "gradient at 0": (
            lambda x: copied(x, lambda x: torch.where(x >= 0, x, 0)),
            "x = 0 … yours 4, expected 0",
        ),
        "through .data": (copied_into_data, "allowed. Write into y.detach() instead."),
        "copied openly": (
            lambda x: torch.relu(x).clone().copy_(step(x)),
            "Autograd recorded the copy",
        ),
        "under no_grad": (copied_without_grad, "torch.func.jvp at x = 0.3 … torch.no_grad()"),
        "gradient of x": (lambda x: copied(x, torch.clone), "That is the gradient of x itself."),
        "gradient of the sigmoid": (
            lambda x: copied(x, lambda x: torch.sigmoid(x).clone()),
            "That is the gradient of the sigmoid.",
        ),
        "another gradient": (
            lambda x: copied(x, lambda x: torch.tanh(x).clone()),
            "gradient at x = -2 … yours 0.212",
        ),
        "a class": (StepLikeRelu.apply, "they come from a class, StepLikeRelu."),
        "the class itself": (StepLikeRelu, "pass StepLikeRelu.apply."),
        "one by one": (one_by_one, "a Tensor in some data-dependent control flow."),
    },
}
