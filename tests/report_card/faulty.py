"""Functions with one fault each, named after it, beside what the report card has to say.

All but a few compute y = x², rightly but for the one thing that they override.
"""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from lessons import plain_function

NESTED = "jacfwd(jacfwd)"  # wrong for nearly every jvp: pytorch issues 197867, 198017


def identity(x):
    return x


class Square(Function):
    """y = x², right in every respect."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 2 * x * tangent


class SlopeOfAnother(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x * grad_output


class ClampGradient(Square):
    """From the web pages: the gradient is 1 above, whatever grad_output is."""

    @staticmethod
    def forward(x):
        return x.clamp(0, 1)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad = grad_output.clone()
        grad[x < 0] = 0
        grad[x > 1] = 1
        return grad

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return torch.where((x < 0) | (x > 1), 0, tangent)


class IgnoresGradOutput(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x


class NotLinear(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output.clamp(-1, 1)


class SavesItsOutput(Square):
    """A quantized tanh that computes its slope from its own, rounded output."""

    @staticmethod
    def forward(x):
        return torch.round(4 * torch.tanh(x)) / 4

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y * y)

    @staticmethod
    def jvp(ctx, tangent):
        (y,) = ctx.saved_tensors
        return tangent * (1 - y * y)


def like_saves_its_output(x):
    y = torch.round(4 * torch.tanh(x)) / 4
    return (1 - y * y).detach() * x


class SavesAnIntermediate(Square):
    """y = exp(x)²"""

    @staticmethod
    def forward(x):
        return torch.exp(x) * torch.exp(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        root = torch.exp(inputs[0])
        ctx.save_for_backward(root)
        ctx.save_for_forward(root)

    @staticmethod
    def backward(ctx, grad_output):
        (root,) = ctx.saved_tensors
        return 2 * root * root * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        (root,) = ctx.saved_tensors
        return 2 * root * root * tangent


class DetachesInBackward(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (2 * x * grad_output).detach()


class OnceDifferentiable(Square):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class OnceDifferentiableWithoutSlope(Square):
    """y = x, so its second derivative is 0, which an error may keep to itself."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output.clone()

    @staticmethod
    def jvp(ctx, tangent):
        return tangent.clone()


class WritesIntoGradOutput(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.mul_(2 * x)


class WritesIntoItsInput(Square):
    @staticmethod
    def forward(x):
        return x.clamp_(-1, 1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        inside = inputs[0].abs() < 1
        ctx.save_for_backward(inside)
        ctx.save_for_forward(inside)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, 0)

    @staticmethod
    def jvp(ctx, tangent):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, tangent, 0)


class KeepsItsInputOnCtx(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        (ctx.x,) = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.x * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.x * tangent


class KeepsItsOutputOnCtx(Square):
    """y = exp(x)"""

    @staticmethod
    def forward(x):
        return torch.exp(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.y = output

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.y * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        return ctx.y * tangent


class KeepsTooMuch(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.never_used = inputs[0].double()


class TooManyGradients(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output, grad_output


class Scale(Square):
    """y = factor · x², right in every respect."""

    @staticmethod
    def forward(x, factor):
        return factor * x * x

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


class ForgetsNone(Scale):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * ctx.factor * x * grad_output


class GradientForANumber(Scale):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * ctx.factor * x * grad_output, x * x * grad_output


class NoGradientForAnInput(Function):
    """y = x · w"""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, weight):
        return x * weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        _, weight = ctx.saved_tensors
        return grad_output * weight, None

    @staticmethod
    def jvp(ctx, of_x, of_weight):
        x, weight = ctx.saved_tensors
        return of_x * weight + x * of_weight


class VmapOverTheFirstInput(NoGradientForAnInput):
    generate_vmap_rule = False

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        return grad_output * weight, grad_output * x

    @staticmethod
    def vmap(info, in_dims, x, weight):
        return x * weight, in_dims[0]


class ReducesItsGradient(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (2 * x * grad_output).sum()


class BroadcastsItsGradient(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x.unsqueeze(-1) * grad_output


class NoJvp(Function):
    generate_vmap_rule = True
    forward = staticmethod(Square.forward)
    backward = staticmethod(Square.backward)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


class JvpWrongByAFactor(Square):
    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return x * tangent


class OldStyle(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    backward = staticmethod(Square.backward)


class NoVmapRule(Square):
    generate_vmap_rule = False


class WrongVmap(Square):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return x * x.abs(), 0


class AsksForANumber(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output if grad_output.any() else 0 * x


class WrongAtItsKink(Square):
    @staticmethod
    def forward(x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, torch.where(x < 0, 0, 2 * grad_output))

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, tangent, 0)


class WrongInFloat16(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (4 if x.dtype == torch.float16 else 2) * x * grad_output


class ValueWrongInFloat16(Square):
    @staticmethod
    def forward(x):
        return x * x + (x.dtype == torch.float16)


class AlwaysFloat32(Square):
    @staticmethod
    def forward(x):
        return (x * x).float()


class RoundStraightThrough(plain_function.PlainRoundSTE):
    """Right, but torch.compile takes no Function with jvp, and drops what it does not see."""

    generate_vmap_rule = True

    @staticmethod
    def jvp(ctx, tangent):
        return tangent.clone()


class OverflowsInBackward(RoundStraightThrough):
    """y = x; the slope is 1, but x² is infinite above 1e19 in float32."""

    @staticmethod
    def forward(x):
        return x.clone()

    setup_context = staticmethod(Square.setup_context)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 + x * x) / (1 + x * x)


class MasksByMultiplying(Square):
    @staticmethod
    def forward(x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x > 0) * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return (x > 0) * tangent


class MasksBeyondThree(Square):
    """y = hardsigmoid(x), as in timm's activations_me.py: flat below -3 and above 3."""

    @staticmethod
    def forward(x):
        return (x + 3).clamp(0, 6) / 6

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (torch.ones_like(x) * (x.abs() <= 3) / 6)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * (torch.ones_like(x) * (x.abs() <= 3) / 6)


class OverflowsAtFour(RoundStraightThrough):
    """y = sign(x) with the gradient of sigmoid(25 x): exp(100) is infinite in float32."""

    @staticmethod
    def forward(x):
        return x.sign()

    setup_context = staticmethod(Square.setup_context)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        power = torch.exp(-25 * x)
        return grad_output * 25 * power / (1 + power) ** 2

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        slope = torch.sigmoid(25 * x)
        return tangent * 25 * slope * (1 - slope)


def like_overflows_at_four(x):
    return torch.sigmoid(25 * x)


class NanFarOut(OverflowsAtFour):
    """y = sign(x) and its true slope 0, but NaN below -200 in every dtype."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 0 / (x >= -200)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 0 / (x >= -200)


class AnswersInFloat32(Square):
    """Twice the slope, which float32 answers show as well as those in float64."""

    @staticmethod
    def forward(x):
        return (x * x).float()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 4 * x * grad_output

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 4 * x * tangent


class RefusesEmpty(Square):
    @staticmethod
    def forward(x):
        if not x.numel():
            raise ValueError("nothing to square")
        return x * x


class UsesView(Square):
    @staticmethod
    def forward(x):
        return (x.view(-1) ** 2).view(x.shape)


class AssumesContiguous(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        straight = torch.empty(x.shape).stride()
        return 2 * x * grad_output.as_strided(x.shape, straight)


def detour(x):
    """The sign with the gradient of the identity, by the detach trick."""
    return x + (x.sign() - x).detach()


class RoundWithoutJvp(Function):
    """Right but for its missing jvp."""

    generate_vmap_rule = True
    forward = staticmethod(RoundStraightThrough.forward)
    setup_context = staticmethod(RoundStraightThrough.setup_context)
    backward = staticmethod(RoundStraightThrough.backward)


def cut(x):
    return x.detach() ** 2


def square_under_no_grad(x):
    """y = x², written where backward does not look, but forward mode does."""
    y = x * x
    with torch.no_grad():
        y.copy_((x * x).detach())
    return y


def square_root_of_square(x):
    """|x|, whose gradient is NaN at 0."""
    return torch.sqrt(x * x)
