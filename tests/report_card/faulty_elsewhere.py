"""Functions with one fault in forward mode, under torch.func, in other dtypes or shapes."""

import torch
from faulty import FUNC, Product, RoundStraightThrough, Square, fault, identity, of_saved
from torch.autograd import Function

# ---- Forward mode and torch.func


@fault("jvp", "must implement the jvp", remedy="write a staticmethod jvp", also={"hessian"})
class NoJvp(Function):
    generate_vmap_rule = True
    forward = staticmethod(Square.forward)
    backward = staticmethod(Square.backward)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


@fault("jvp", "at x = -3, tangent = -2.25", ("6.75", "13.5"), "backward by its transpose")
class JvpWrongByAFactor(Square):
    jvp = of_saved(lambda x, t: x * t)


@fault("jvp", "at x = -3", ("0", "13.5"), "hides the write from backward, but not from forward")
def square_under_no_grad(x):
    """y = x², written where backward does not look, but forward mode does."""
    y = x * x
    with torch.no_grad():
        y.copy_((x * x).detach())
    return y


@fault("vmap", "must override the setup_context", remedy="split forward", also=FUNC)
class OldStyle(Function):
    backward = staticmethod(Square.backward)

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x


@fault(
    "vmap", "does not have vmap support", remedy="generate_vmap_rule = True",
    also=FUNC - {"jvp"},
)  # fmt: skip
class NoVmapRule(Square):
    generate_vmap_rule = False


@fault("vmap", "at x = -3", ("-9", "9"))
class WrongVmap(NoVmapRule):
    vmap = staticmethod(lambda info, in_dims, x: (x * x.abs(), 0))


@fault("vmap", "its shape", ("shape (3, 3, 9)", "shape (3, 9)"), inputs=(torch.linspace(1, 3, 9),))
class VmapOverTheFirstInput(Product):
    generate_vmap_rule = False
    vmap = staticmethod(lambda info, in_dims, x, weight: (x * weight, in_dims[0]))


@fault(
    "vmap(grad)", "data-dependent control flow", remedy="torch.where instead of if",
    also={"hessian"},
)  # fmt: skip
class AsksForANumber(Square):
    backward = of_saved(lambda x, g: 2 * x * g if g.any() else 0 * x)


# ---- Other dtypes, large and small numbers


def like_overflows_at_four(x):
    return torch.sigmoid(25 * x)


@fault(
    "float32", "gradient at x = -4 for grad_output = 1", ("nan", "9.3e-43"),
    "in which nothing overflows",
    {"slope", "float64", "bfloat16", "float16", "large x", "inf, NaN and -0"},
    like=like_overflows_at_four,
)  # fmt: skip
class OverflowsAtFour(Square):
    """y = sign(x) with the gradient of sigmoid(25 x): exp(100) is infinite in float32."""

    forward = staticmethod(lambda x: x.sign())

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


@fault("large x", "gradient at x = -300 (float32)", ("nan", "0"), "nothing overflows")
class NanFarOut(Square):
    """y = sign(x) and its true slope 0, but NaN below -200 in every dtype."""

    forward = staticmethod(lambda x: x.sign())
    backward = jvp = of_saved(lambda x, g: g * 0 / (x >= -200))


@fault("large x", "gradient at x = 1e+30 (float32)", ("nan", "0.75"))
class OverflowsInBackward(RoundStraightThrough):
    """y = x; the slope is 1, but x² is infinite above 1e19 in float32."""

    forward = staticmethod(lambda x: x.clone())
    setup_context = staticmethod(Square.setup_context)
    backward = of_saved(lambda x, g: g * (1 + x * x) / (1 + x * x))


@fault("large x", "gradient at x = 10000 (float32)", ("0", "1.25"), like=identity)
def ends_at_a_thousand(x):
    return torch.where(x.abs() < 1000, x, x.detach())


@fault(
    "large x", "at x = 1e+30 (float32)", ("1e+10", "1"),
    also={"linear in grad_output", "inf upstream", "float16"},
)  # fmt: skip
def sign_of_some(x):
    """Wrong in float64, too."""
    return x / x.abs().clamp(1e-3, 1e20)


@fault("large x", "at x = 300 (bfloat16)", ("0", "1"), also={"bfloat16", "autocast"})
def detour_in_bfloat16(x):
    """300 is its own bfloat16, 299 is not."""
    return x + (x.clamp(-1, 1) - x).detach() if x.dtype == torch.bfloat16 else x.clamp(-1, 1)


@fault(
    "large x", "at x = 1e+08 (float32)", ("0", "1"), "no detour", {"inf, NaN and -0"}, like=identity
)
def detour(x):
    """The sign with the gradient of the identity, by the detach trick."""
    return x + (x.sign() - x).detach()


@fault("inf, NaN and -0", "gradient at x = inf", ("nan", "-2.25"), like=identity)
class NanAtInfinity(OverflowsInBackward):
    forward = staticmethod(lambda x: x.round())
    backward = of_saved(lambda x, g: torch.where(x.isinf(), torch.nan, g))


@fault("inf, NaN and -0", "at x = -0", ("1", "0"))
class ValueWrongAtMinusZero(Square):
    """In float32."""

    forward = staticmethod(lambda x: x * x + (x.signbit() & (x == 0) & (x.dtype == torch.float32)))


@fault("float16", "gradient at x = -3", ("0.02701", "0.01342 to 0.01358"))
class SmallAndWrongInFloat16(Square):
    forward = staticmethod(lambda x: 1e-3 * x * x)
    backward = of_saved(lambda x, g: (4e-3 if x.dtype == torch.float16 else 2e-3) * x * g)
    jvp = of_saved(lambda x, t: 2e-3 * x * t)


@fault("float16", "at x = -3", ("10", "8.898 to 9.109"))
class ValueWrongInFloat16(Square):
    forward = staticmethod(lambda x: x * x + (x.dtype == torch.float16))


@fault(
    "output dtype", "for an input of float64",
    ("float32", "the dtype of the input"), "y.to(x.dtype)",
)  # fmt: skip
class AlwaysFloat32(Square):
    forward = staticmethod(lambda x: (x * x).float())


class WrongUnderAutocast(Square):
    dtype: torch.dtype

    @classmethod
    def setup_context(cls, ctx, inputs, output):
        Square.setup_context(ctx, inputs, output)
        ctx.factor = 1 + (torch.is_autocast_enabled("cpu") and inputs[0].dtype == cls.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.factor * Square.backward(ctx, grad_output)


@fault("autocast", "gradient at x = -3", ("27", "12.88 to 14.12"))
class WrongForLeavesUnderAutocast(WrongUnderAutocast):
    dtype = torch.float32


@fault("autocast", "gradient of a bfloat16 input at x = -3", ("27", "12.88 to 14.12"))
class WrongForAMatmulUnderAutocast(WrongUnderAutocast):
    dtype = torch.bfloat16


@fault("bfloat16", "no bfloat16", also={"autocast"})
def no_bfloat16(x):
    if x.dtype == torch.bfloat16:
        raise TypeError("no bfloat16")
    return x * x


# ---- Shapes


@fault("empty", "ValueError: nothing to square")
class RefusesEmpty(Square):
    @staticmethod
    def forward(x):
        if not x.numel():
            raise ValueError("nothing to square")
        return x * x


@fault("0-d", "at x = -3", ("10", "9"))
class ValueWrongIn0d(Square):
    forward = staticmethod(lambda x: x * x + (x.dim() == 0))


@fault("0-d", "at x = -3", ("20.25", "13.5"))
class GradientWrongIn0d(Square):
    backward = of_saved(lambda x, g: (2 + (x.dim() == 0)) * x * g)


@fault("non-contiguous", "view size is not", remedy="use reshape")
class UsesView(Square):
    forward = staticmethod(lambda x: (x.view(-1) ** 2).view(x.shape))


@fault("non-contiguous", "gradient at x = -2", ("7", "-5"))
class AssumesContiguous(Square):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        straight = torch.empty(x.shape).stride()
        return 2 * x * grad_output.as_strided(x.shape, straight)


@fault("non-contiguous", "at x = -3", ("10", "9"))
class ValueWrongWithGaps(Square):
    forward = staticmethod(lambda x: x * x + (not x.is_contiguous()))
