"""The step of a spiking neuron, with a choice of surrogate gradients."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.autograd import Function

from helpers.functions.anywhere import apply_anywhere
from helpers.functions.arithmetic import at_least_float32, where_inside, where_within
from helpers.functions.checks import floating, real_number


class Step(Function):
    """y = 1 where x ≥ 0, else 0; dL/dx = dL/dy · derivative of the surrogate function at x."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, surrogate, width):
        return F.hardtanh_(x.floor().add_(1), 0, 1)  # NaN at NaN; faster than (x >= 0).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.surrogate, ctx.width = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        gradient = SURROGATES[ctx.surrogate].gradient
        # in float16, 1 / 300² would be 0
        grad_x = gradient(at_least_float32(grad_output), at_least_float32(x), ctx.width)
        return grad_x.to(grad_output.dtype), None, None


def step(x: torch.Tensor, surrogate: str = "atan", width: float = 1.0) -> torch.Tensor:
    """Step from 0 to 1 at x = 0, with the gradient of a smooth or a wide step.

    Value 1 where x ≥ 0, else 0. For upstream gradient g, the gradient is g times the derivative of
    the surrogate function. Each is 1 at x = 0, and with a larger width w it reaches more inputs:

        atan              1 / (1 + (x/w)²)
        sigmoid           4 · s · (1 − s) with s = sigmoid(x/w)
        fast_sigmoid      1 / (1 + |x|/w)²
        triangle          max(0, 1 − |x|/w)
        straight_through  1 where |x| ≤ w, else 0

    Any shape, any floating-point dtype; other inputs raise TypeError, another surrogate or a width
    that is not positive ValueError. Sources: `SURROGATES[surrogate].source`.

    >>> x = torch.tensor([0.0, 1.0, 3.0], requires_grad=True)
    >>> torch.autograd.grad(step(x, "atan").sum(), x)
    (tensor([1.0000, 0.5000, 0.1000]),)
    """
    if surrogate not in list(SURROGATES):
        raise ValueError(f"step needs a surrogate of {', '.join(SURROGATES)}; got {surrogate!r}")
    w = real_number(width, "width", "step")
    if not 1e-15 <= w <= 1e15:  # float32 holds its square and the inverse of that
        raise ValueError(f"step needs a positive width, from 1e-15 to 1e15, got {width}")
    return apply_anywhere(Step, floating(x, "step"), surrogate, w, proxy=step_proxy)


def step_proxy(x: torch.Tensor, surrogate: str, width: float) -> torch.Tensor:
    """The surrogate function itself."""
    return SURROGATES[surrogate].function(at_least_float32(x), width).to(x.dtype)


@dataclass(frozen=True)
class Surrogate:
    """A function whose derivative backward uses. It is 1 at x = 0; the width w stretches it.

    formula   of the derivative, as text
    gradient  (g, x, w) -> g times the derivative at x
    function  (x, w) -> the value
    source    where it was proposed
    """

    formula: str
    gradient: Callable
    function: Callable
    source: str


# Few new tensors, much in place: for large x, memory takes longer than arithmetic.


def _atan(g, x, w):
    one = torch.ones((), dtype=x.dtype, device=x.device)
    return g / torch.addcmul(one, x, x, value=w**-2)


def _sigmoid(g, x, w):
    far = math.log(torch.finfo(x.dtype).max) / 2  # beyond it cosh² would be infinite
    return g / F.hardtanh_(x / (2 * w), -far, far).cosh_().pow_(2)


def _fast_sigmoid(g, x, w):
    return g / x.abs().div_(w).add_(1).pow_(2)


def _triangle(g, x, w):
    return where_inside(g * x.abs().div_(-w).add_(1), x, -w, w)


def _straight_through(g, x, w):
    return where_within(g, x, -w, w)


def _odd(half):
    """The odd function with value half(x, w) for x > 0, and derivative 1 at 0."""
    return lambda x, w: torch.where(x == 0, x, x.sign() * half(x.abs(), w))


def _triangle_half(x, w):
    inside = torch.where(x < w, x, w)
    return w / 2 * (1 - (1 - inside / w) ** 2)


SURROGATES = {
    "atan": Surrogate(
        "1 / (1 + (x/w)²)",
        _atan,
        lambda x, w: w * torch.atan(x / w),
        "Fang et al. 2021, https://arxiv.org/abs/2007.05785",
    ),
    "sigmoid": Surrogate(
        "1 / cosh²(x/2w) = 4 · s · (1 − s) with s = sigmoid(x/w)",
        _sigmoid,
        _odd(lambda x, w: w * (2 - 4 * torch.sigmoid(-x / w))),
        "Wu et al. 2018, https://arxiv.org/abs/1706.02609",
    ),
    "fast_sigmoid": Surrogate(
        "1 / (1 + |x|/w)²",
        _fast_sigmoid,
        _odd(lambda x, w: w - w / (1 + x / w)),
        "Zenke, Ganguli 2018, https://arxiv.org/abs/1705.11146",
    ),
    "triangle": Surrogate(
        "max(0, 1 − |x|/w)",
        _triangle,
        _odd(_triangle_half),
        "Bellec et al. 2018, https://arxiv.org/abs/1803.09574",
    ),
    "straight_through": Surrogate(
        "1 where |x| ≤ w, else 0",
        _straight_through,
        lambda x, w: torch.where(x.abs() <= w, x, w * x.sign()),
        "Courbariaux et al. 2016, https://arxiv.org/abs/1602.02830",
    ),
}
