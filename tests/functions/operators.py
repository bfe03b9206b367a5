"""Every operator of helpers.functions, with its value and its slope written down independently.

`value` and `slope` are formulas for one float64 tensor. They use none of the operator's own code,
so they cannot repeat its mistakes. `kinks` are where one of the two jumps. One operator is not
elementwise: it works on rows, and has a `product` instead of a slope.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from helpers.functions import (
    argmax_ste,
    ceil_ste,
    clamp,
    clamp_ste,
    fake_quantize,
    floor_ste,
    lsq_quantize,
    reverse_gradient,
    round_ste,
    scale_gradient,
    sign_ste,
    step,
    trunc_ste,
    value_with_gradient_of,
)
from helpers.functions.anywhere import identity
from helpers.functions.choosing import argmax_proxy
from helpers.functions.clamping import clamp_proxy, sign_proxy
from helpers.functions.quantizing import fake_quantize_proxy
from helpers.functions.stepping import step_proxy
from helpers.functions.upstream import scale_gradient_proxy

WIDTH = 0.75
HALVES = [n / 2 for n in range(-9, 10)]


@dataclass(frozen=True)
class Operator:
    """One operator with fixed parameters.

    function  what people call, of one tensor
    value     its value by formula, float64 in and out
    slope     the surrogate gradient by formula
    kinks     where value or slope jump or bend
    proxy     a function that torch differentiates to the slope
    saves     bytes kept for backward, for each float32 of x
    product   (x, vector) -> what a symmetric Jacobian makes of a vector, instead of a slope, where
              each number of a row depends on the whole row
    """

    function: Callable
    value: Callable
    slope: Callable | None
    kinks: list
    proxy: Callable
    saves: int = 0
    product: Callable | None = None

    @property
    def elementwise(self):
        return self.product is None

    def times(self, x, vector):
        """What backward makes of an upstream gradient, and forward mode of a tangent.

        Where the slope is 0, an infinite upstream gradient gives 0.
        """
        if self.product:
            return self.product(x, vector)
        slope = self.slope(x)
        return torch.where(slope == 0, 0, slope * vector)


def among_others(function):
    """function(x) between two other uses of x, whose gradients it must leave alone: 3 and -0.5."""
    return lambda x: 3 * x + function(x) - x / 2


OTHERS = 2.5  # what they add


def one(x):
    return torch.ones_like(x)


def atan(x):
    """torch's own squares x, which overflows in float16."""
    return x.float().atan().half() if x.dtype == torch.float16 else x.atan()


def one_within(x, low, high):
    return ((low <= x) & (x <= high)).to(x.dtype)


def heaviside(x):
    return torch.where(x.isnan(), x, (x >= 0).to(x.dtype))


def clamp_slope(low, high, bound_gradient):
    def slope(x):
        inner = ((low < x) & (x < high)).to(x.dtype)
        at_bound = ((x == low) | (x == high)).to(x.dtype)
        return inner + bound_gradient * at_bound

    return slope


def with_clamp(low, high, bound_gradient):
    return Operator(
        lambda x: clamp(x, low, high, bound_gradient=bound_gradient),
        lambda x: x.clamp(low, high),
        clamp_slope(low, high, bound_gradient),
        [low, high],
        lambda x: clamp_proxy(x, low, high, bound_gradient),
        saves=4,
    )


def with_step(surrogate, slope):
    return Operator(
        lambda x: step(x, surrogate, WIDTH),
        heaviside,
        lambda x: slope(x / WIDTH),
        [-WIDTH, 0.0, WIDTH],
        lambda x: step_proxy(x, surrogate, WIDTH),
        saves=4,
    )


def straight_through(function, value, kinks=HALVES, **parameters):
    return Operator(lambda x: function(x, **parameters), value, one, kinks, identity)


# A power of two as scale: then x / scale is exact, and so are the places of the kinks.
SCALE, ZERO_POINT, LOW, HIGH = 0.25, 1, -4, 3
BINS = [(n + 0.5) * SCALE for n in range(LOW - ZERO_POINT - 1, HIGH - ZERO_POINT + 1)]


def grid_value(x):
    return ((x / SCALE).round() + ZERO_POINT).clamp(LOW, HIGH).sub(ZERO_POINT) * SCALE


def grid_slope(x):
    return one_within((x / SCALE).round() + ZERO_POINT, LOW, HIGH)


def one_per_row(value, x, dtype=None):
    """value as the parameter of each channel, the first dimension; x of shape () has one."""
    rows = x.shape[:1] + (1,) * (x.dim() - 1)
    return torch.full(rows, value, dtype=dtype or x.dtype)


def quantize_rows(x):
    zero_point = one_per_row(ZERO_POINT, x, torch.int32)
    return fake_quantize(x, one_per_row(SCALE, x, torch.float32), zero_point, LOW, HIGH)


def proxy_of_rows(x):
    return fake_quantize_proxy(x, SCALE, LOW - ZERO_POINT, HIGH - ZERO_POINT)


TEMPERATURE = 2.0


def one_hot_of_largest(x):
    """By sorting: the first place of the largest, and a stable sort keeps the first in front."""
    first = x.sort(descending=True, stable=True).indices[..., :1]
    return (torch.arange(x.shape[-1]) == first).to(x.dtype)


def times_jacobian_of_softmax(x, vector):
    """Its Jacobian, written out: diag(p) − p pᵀ, divided by the temperature."""
    p = (x / TEMPERATURE - (x / TEMPERATURE).logsumexp(-1, keepdim=True)).exp()
    jacobian = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
    return (jacobian / TEMPERATURE @ vector.unsqueeze(-1)).squeeze(-1)


OPERATORS = {
    "round_ste": straight_through(round_ste, torch.round),
    "floor_ste": straight_through(floor_ste, torch.floor),
    "ceil_ste": straight_through(ceil_ste, torch.ceil),
    "trunc_ste": straight_through(trunc_ste, torch.trunc),
    "sign_ste": Operator(
        sign_ste, torch.sign, lambda x: one_within(x, -1, 1), [-1, 0, 1], sign_proxy, saves=4
    ),
    "clamp_ste": straight_through(
        clamp_ste, lambda x: x.clamp(-1, 2), kinks=[-1, 2], min=-1, max=2
    ),
    "clamp, 0 at a bound": with_clamp(-1, 2, 0),
    "clamp, 0.5 at a bound": with_clamp(-1, 2, 0.5),
    "clamp, 1 at a bound": with_clamp(-1, 2, 1),
    "clamp, no maximum": with_clamp(0, math.inf, 1),
    "clamp, no minimum": with_clamp(-math.inf, 0.5, 0),
    "step, atan": with_step("atan", lambda u: 1 / (1 + u**2)),
    "step, sigmoid": with_step("sigmoid", lambda u: 4 * u.sigmoid() * (-u).sigmoid()),
    "step, fast_sigmoid": with_step("fast_sigmoid", lambda u: 1 / (1 + u.abs()) ** 2),
    "step, triangle": with_step("triangle", lambda u: (1 - u.abs()).clamp(min=0)),
    "step, straight_through": with_step("straight_through", lambda u: one_within(u, -1, 1)),
    "fake_quantize": Operator(
        lambda x: fake_quantize(x, SCALE, ZERO_POINT, LOW, HIGH),
        grid_value,
        grid_slope,
        BINS,
        proxy_of_rows,
        saves=4,
    ),
    "fake_quantize, per channel": Operator(
        quantize_rows, grid_value, grid_slope, BINS, proxy_of_rows, saves=4
    ),
    "lsq_quantize": Operator(
        lambda x: lsq_quantize(x, torch.tensor(SCALE), LOW, HIGH),
        lambda x: (x / SCALE).clamp(LOW, HIGH).round() * SCALE,
        clamp_slope(LOW * SCALE, HIGH * SCALE, 0),
        [n * SCALE / 2 for n in range(2 * LOW - 1, 2 * HIGH + 2)],
        lambda x: clamp_proxy(x, LOW * SCALE, HIGH * SCALE, 0),
        saves=4,
    ),
    "scale_gradient": Operator(
        lambda x: scale_gradient(x, 0.5),
        identity,
        lambda x: torch.full_like(x, 0.5),
        [],
        lambda x: scale_gradient_proxy(x, 0.5),
    ),
    "reverse_gradient": Operator(
        reverse_gradient, identity, lambda x: -one(x), [], lambda x: scale_gradient_proxy(x, -1)
    ),
    "value_with_gradient_of": Operator(
        lambda x: value_with_gradient_of(x.sign(), atan(x)),
        torch.sign,
        lambda x: 1 / (1 + x**2),
        [0.0],
        atan,
        saves=4,
    ),
    "argmax_ste": Operator(
        lambda x: argmax_ste(x, temperature=TEMPERATURE),
        one_hot_of_largest,
        None,
        [0.5, 0.5],  # equal numbers: the first is chosen
        lambda x: argmax_proxy(x, -1, TEMPERATURE),
        saves=4,
        product=times_jacobian_of_softmax,
    ),
}


def all_at_once(x):
    """Another process can import it."""
    return torch.stack([operator.function(x) for operator in OPERATORS.values()])
