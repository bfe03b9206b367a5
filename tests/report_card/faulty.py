"""Functions with one fault each, named after it, beside what the report card has to say.

All but a few compute y = x², rightly but for the one thing that they override.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from lessons import plain_function

FIRST = "one gradient per input"
NESTED = "jacfwd(jacfwd)"  # wrong for nearly every jvp: pytorch issues 197867, 198017
FUNC = {"vmap(grad)", "hessian", "jvp"}


@dataclass(frozen=True)
class Fault:
    """A function, and what its card has to say.

    row      that finds the fault
    says     a part of its message: torch's words, or the place
    numbers  (yours, expected), if it is silently wrong, and not refused
    remedy   a part of what to change
    also     the other rows that cannot work with this fault
    may      rows that work with this fault since a later version of torch
    inputs   beside x
    like     has the gradient that is meant
    """

    function: Callable
    row: str
    says: str
    numbers: tuple[str, str] | None = None
    remedy: str = ""
    also: set = frozenset()
    may: set = frozenset()
    inputs: tuple = ()
    like: Callable | None = None


FAULTS = {}


def fault(*found, **more):
    """Enters a Function or a function into the table: the arguments are those of Fault."""

    def enter(function):
        call = getattr(function, "apply", function)
        FAULTS[function.__name__] = Fault(call, *found, **more)
        return function

    return enter


def of_saved(function):
    """A backward, or a jvp, from a function of what was saved and of the gradient."""
    return staticmethod(lambda ctx, gradient: function(*ctx.saved_tensors, gradient))


def identity(x):
    return x


# ---- Right in every respect


class Square(Function):
    """y = x²"""

    generate_vmap_rule = True
    forward = staticmethod(lambda x: x * x)
    backward = jvp = of_saved(lambda x, g: 2 * x * g)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)


class Scale(Square):
    """y = factor · x²"""

    forward = staticmethod(lambda x, factor: factor * x * x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.factor = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * ctx.factor * x * grad_output, None

    @staticmethod
    def jvp(ctx, tangent, _):
        (x,) = ctx.saved_tensors
        return 2 * ctx.factor * x * tangent


class Product(Square):
    """y = x · w"""

    forward = staticmethod(lambda x, weight: x * weight)
    backward = of_saved(lambda x, weight, g: (g * weight, g * x))

    @staticmethod
    def jvp(ctx, of_x, of_weight):
        x, weight = ctx.saved_tensors
        return of_x * weight + x * of_weight


class RoundStraightThrough(plain_function.PlainRoundSTE):
    """Right, but torch.compile takes no Function with jvp, and drops what it does not see."""

    generate_vmap_rule = True
    jvp = staticmethod(lambda ctx, tangent: tangent.clone())


class RoundWithoutJvp(plain_function.PlainRoundSTE):
    """Right but for its missing jvp."""

    generate_vmap_rule = True


class KeepsTooMuch(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        Square.setup_context(ctx, inputs, output)
        ctx.never_used = inputs[0].double()


# ---- The first gradient


@fault("slope", "at x = 6.25", ("-1.401", "-1.491"))
class ClampsTheSlopeFarToTheRight(Square):
    forward = staticmethod(lambda x: torch.exp(x / 4))
    backward = jvp = of_saved(lambda x, g: g * torch.exp(x.clamp(max=6) / 4) / 4)


@fault("slope", "at x = 0.3, grad_output = -2.25", ("-2.025", "-1.35"), "pass like=")
class SlopeOfAnother(Square):
    backward = of_saved(lambda x, g: 3 * x * g)


@fault("slope", "at x = ", ("-1.351", "-1.35"))
class Thousandth(Square):
    """Wrong by no more than that."""

    backward = of_saved(lambda x, g: 2.002 * x * g)


@fault("slope", "only at kinks, at x = 0, grad_output = -1.25", ("-2.5", "-1.25 to 0"))
class WrongAtItsKink(Square):
    forward = staticmethod(lambda x: x.clamp(min=0))
    backward = of_saved(lambda x, g: torch.where(x > 0, g, torch.where(x < 0, 0, 2 * g)))
    jvp = of_saved(lambda x, t: torch.where(x > 0, t, 0))


@fault("slope", "at x = 0.3", ("-2.7", "-1.352 to -1.349"), "pass like=", {"output dtype"})
class AnswersInFloat32(Square):
    """Twice the slope, which float32 answers show as well as those in float64."""

    forward = staticmethod(lambda x: (x * x).float())
    backward = jvp = of_saved(lambda x, g: 4 * x * g)


@fault("slope", "only at kinks, at x = 0, grad_output", ("nan", "-0.25 to 0.25"), also={"large x"})
def square_root_of_square(x):
    """|x|, whose gradient is NaN at 0."""
    return torch.sqrt(x * x)


@fault(
    "linear in grad_output", "for grad_output = 0", ("1", "0"), "numbers of its own", {"slope"},
    may={"vmap(grad)"},  # indexing with a mask
)  # fmt: skip
class ClampGradient(Square):
    """From the web pages: the gradient is 1 above, whatever grad_output is."""

    forward = staticmethod(lambda x: x.clamp(0, 1))
    jvp = of_saved(lambda x, t: torch.where((x < 0) | (x > 1), 0, t))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad = grad_output.clone()
        grad[x < 0] = 0
        grad[x > 1] = 1
        return grad


@fault("linear in grad_output", "for grad_output = 0", ("-6", "0"), "multiply by", {"slope"})
class IgnoresGradOutput(Square):
    backward = of_saved(lambda x, g: 2 * x)


@fault(
    "linear in grad_output", "for the sum 2.5·u - 1.5·v", ("6", "16.12"), "only multiply", {"slope"}
)
class NotLinear(Square):
    backward = of_saved(lambda x, g: 2 * x * g.clamp(-1, 1))


@fault("inf upstream", "at x = -3 for grad_output = -inf", ("nan", "0"), "torch.where(mask")
class MasksByMultiplying(Square):
    forward = staticmethod(lambda x: x.clamp(min=0))
    backward = jvp = of_saved(lambda x, g: (x > 0) * g)


@fault("inf upstream", "at x = 4 for grad_output = -inf", ("nan", "0"), "torch.where(mask")
class MasksBeyondThree(Square):
    """y = hardsigmoid(x), as in timm's activations_me.py: flat below -3 and above 3."""

    forward = staticmethod(lambda x: (x + 3).clamp(0, 6) / 6)
    backward = jvp = of_saved(lambda x, g: g * (torch.ones_like(x) * (x.abs() <= 3) / 6))


# ---- What backward gives to whom


@fault(FIRST, "(expected 1, got 2)", remedy="forward has one")
class TooManyGradients(Square):
    backward = of_saved(lambda x, g: (2 * x * g, g))


@fault(FIRST, "(expected 2, got 1)", remedy="and None for", inputs=(3.0,))
class ForgetsNone(Scale):
    backward = of_saved(lambda x, g: 2 * x * g)


@fault(FIRST, "different than None at position 2", remedy="return None at", inputs=(3.0,))
class GradientForANumber(Scale):
    backward = of_saved(lambda x, g: (2 * x * g, x * x * g))


@fault(
    FIRST, "input 1 of shape (9,) changes the value", ("None", "a gradient"),
    "requires_grad_() on the others", {"slope"}, inputs=(torch.linspace(1, 3, 9),),
)  # fmt: skip
class NoGradientForAnInput(Product):
    backward = of_saved(lambda x, weight, g: (g * weight, None))


@fault(FIRST, "invalid gradient at index 0", remedy="do not reduce")
class ReducesItsGradient(Square):
    backward = of_saved(lambda x, g: (2 * x * g).sum())


@fault(FIRST, "does not require grad", remedy="something cuts the graph")
def cut(x):
    return x.detach() ** 2


@fault(
    "slope", "at x = 0.3", ("-9.095e-13", "-1.35"), "repair the formula",
    {"non-contiguous"},
)  # fmt: skip
class BroadcastsItsGradient(Square):
    backward = of_saved(lambda x, g: 2 * x.unsqueeze(-1) * g)


# ---- The second gradient


def like_saves_its_output(x):
    y = torch.round(4 * torch.tanh(x)) / 4
    return (1 - y * y).detach() * x


@fault(
    "double backward", "at x = -1", ("0.3076", "0"), "save the input or a bool mask", {"hessian"},
    like=like_saves_its_output,
)  # fmt: skip
class SavesItsOutput(Square):
    """A quantized tanh that computes its slope from its own, rounded output."""

    forward = staticmethod(lambda x: torch.round(4 * torch.tanh(x)) / 4)
    backward = jvp = of_saved(lambda y, g: g * (1 - y * y))

    @staticmethod
    def setup_context(ctx, inputs, output):
        Square.setup_context(ctx, (output,), None)


@fault("double backward", "at x = -0.5", ("0", "11.63"), "takes for a constant", {"hessian"})
class SavesAnIntermediate(Square):
    """y = exp(x)²"""

    forward = staticmethod(lambda x: torch.exp(x) * torch.exp(x))
    backward = jvp = of_saved(lambda root, g: 2 * root * root * g)

    @staticmethod
    def setup_context(ctx, inputs, output):
        Square.setup_context(ctx, (torch.exp(inputs[0]),), None)


@fault("double backward", "at x = -3", ("0", "9.562"), "backward cuts the graph", {"hessian"})
class DetachesInBackward(Square):
    backward = of_saved(lambda x, g: (2 * x * g).detach())


@fault("double backward", "at x = -3, as in f(x).sum()", ("0", "9.562"), "remove @once")
class OnceDifferentiable(Square):
    backward = staticmethod(once_differentiable(Square.backward))


@fault("double backward", "differentiate twice", remedy="remove @once")
class OnceDifferentiableWithoutSlope(Square):
    """y = x, so its second derivative is 0, which an error may keep to itself."""

    forward = staticmethod(lambda x: x.clone())
    backward = staticmethod(once_differentiable(lambda ctx, grad_output: grad_output.clone()))
    jvp = staticmethod(lambda ctx, tangent: tangent.clone())


# ---- In place


@fault(
    "grad_output untouched", "number 0", ("13.5", "-2.25"), "grad_output * 2",
    {"double backward", "non-contiguous"},
)  # fmt: skip
class WritesIntoGradOutput(Square):
    backward = of_saved(lambda x, g: g.mul_(2 * x))


@fault("input untouched", "at x = -3", ("-1", "-3"), "mark_dirty")
class WritesIntoItsInput(Square):
    forward = staticmethod(lambda x: x.clamp_(-1, 1))
    backward = jvp = of_saved(lambda inside, g: torch.where(inside, g, 0))

    @staticmethod
    def setup_context(ctx, inputs, output):
        Square.setup_context(ctx, (inputs[0].abs() < 1,), None)


@fault(
    "in-place safety", "input changed in place after the call", ("-23.62", "13.5"),
    "save_for_backward",
)  # fmt: skip
class KeepsItsInputOnCtx(Square):
    backward = jvp = staticmethod(lambda ctx, g: 2 * ctx.x * g)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (ctx.x,) = inputs


@fault(
    "in-place safety", "output changed in place after the call", ("-0.4481", "-0.224"),
    "save_for_backward",
)  # fmt: skip
class KeepsItsOutputOnCtx(Square):
    """y = exp(x); autograd notices a change of the input, but not of the output."""

    forward = staticmethod(lambda x: torch.exp(x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        Square.setup_context(ctx, inputs, output)
        ctx.y = output

    @staticmethod
    def backward(ctx, g):
        assert ctx.saved_tensors
        return ctx.y * g

    jvp = backward
