"""Sign and clamp: functions with a flat part, where the gradient is 0 or pretended."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F

from helpers.functions.checks import floating, number
from helpers.functions.elementwise import Elementwise, StraightThrough, apply_anywhere


class SignSTE(Elementwise):
    """y = sign(x), dL/dx = dL/dy where |x| ≤ 1 and 0 elsewhere."""

    @staticmethod
    def forward(x):
        return x.sign()

    @staticmethod
    def times_slope(g, x):
        eps = torch.finfo(x.dtype).eps  # 1 + eps is the next number after 1
        return between(g, x, -1 - eps, 1 + eps)

    @staticmethod
    def proxy(x):
        return torch.where(x.abs() <= 1, x, x.sign())


def sign_ste(x: torch.Tensor) -> torch.Tensor:
    """Take the sign (0 at 0) with the clipped straight-through gradient.

    Value sign(x); gradient g where |x| ≤ 1, both bounds too, else 0, for upstream gradient g. Any
    shape, any floating-point dtype; integers and other types raise TypeError. Source: Courbariaux
    et al. 2016, https://arxiv.org/abs/1602.02830.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(sign_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 0.]),)
    """
    return apply_anywhere(SignSTE, floating(x, "sign_ste"))


class ClampSTE(StraightThrough):
    """y = clamp(x, min, max), dL/dx = dL/dy everywhere."""

    examples = ((-1.0, 1.0),)

    @staticmethod
    def forward(x, min, max):
        return x.clamp(min, max)


def clamp_ste(x: torch.Tensor, min: float | None = None, max: float | None = None) -> torch.Tensor:
    """Clamp to [min, max] with the straight-through gradient, outside the range too.

    Value min(max(x, min), max); gradient g for upstream gradient g. Any shape, any floating-point
    dtype; other inputs raise TypeError, min > max ValueError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(clamp_ste(x, 0, 1), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    low, high = _bounds(min, max, "clamp_ste")
    return apply_anywhere(ClampSTE, floating(x, "clamp_ste"), low, high)


class Clamp(Elementwise):
    """y = clamp(x, min, max), dL/dx = dL/dy · (1 inside, 0 outside, bound_gradient at a bound)."""

    examples = ((-1.0, 1.0, 0.5),)

    @staticmethod
    def forward(x, min, max, bound_gradient):
        return x.clamp(min, max)

    @staticmethod
    def times_slope(g, x, min, max, bound_gradient):
        low, high = in_dtype(min, x.dtype), in_dtype(max, x.dtype)
        if bound_gradient == 0:
            return between(g, x, low, high)
        with_bounds = between(g, x, below(low, x.dtype), -below(-high, x.dtype))
        if bound_gradient == 1:
            return with_bounds
        return with_bounds.mul_(0.5).add_(between(g, x, low, high), alpha=0.5)

    @staticmethod
    def proxy(x, min, max, bound_gradient):
        at_bound = ((x == min) | (x == max)) & x.isfinite()  # infinity is no bound
        partly = x.detach()
        if bound_gradient:  # 0 · inf would be NaN
            partly = bound_gradient * x + (1 - bound_gradient) * partly
        flat_outside = torch.where((min <= x) & (x <= max), x, x.detach().clamp(min, max))
        return torch.where(at_bound, partly, flat_outside)


def clamp(
    x: torch.Tensor,
    min: float | None = None,
    max: float | None = None,
    *,
    bound_gradient: float,
) -> torch.Tensor:
    """Clamp to [min, max] with its true gradient, and your own choice at the two bounds.

    Value min(max(x, min), max); for upstream gradient g the gradient is g inside, 0 outside and
    bound_gradient · g exactly at a bound, where every number from 0 to 1 is a subgradient.
    `torch.clamp` makes this choice for you, and changed it with torch 2.14. Any shape, any
    floating-point dtype; other inputs raise TypeError, min > max or a bound_gradient other than
    0, 0.5 and 1 ValueError. Source: https://docs.pytorch.org/docs/stable/generated/torch.clamp.html

    >>> x = torch.tensor([0.4, 1.0, 1.6], requires_grad=True)
    >>> torch.autograd.grad(clamp(x, 0, 1, bound_gradient=0.5).sum(), x)
    (tensor([1.0000, 0.5000, 0.0000]),)
    """
    low, high = _bounds(min, max, "clamp")
    if bound_gradient not in (0, 0.5, 1):
        raise ValueError(f"clamp needs bound_gradient 0, 0.5 or 1, got {bound_gradient!r}")
    floating(x, "clamp")
    two_bounds = -torch.inf < low and high < torch.inf
    if bound_gradient == 0 and two_bounds and x.dtype in (torch.float32, torch.float64):
        return F.hardtanh(x, low, high)  # the same, without the price of a Function
    return apply_anywhere(Clamp, x, low, high, bound_gradient)


def between(g: torch.Tensor, x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """g where low < x < high, else 0; at NaN, which has no slope, g or 0.

    torch's own kernels, because `where` with a mask takes five times as long, and g * mask turns an
    infinite g into NaN.

    >>> between(torch.tensor([3.0, 5.0]), torch.tensor([0.4, 1.0]), 0, 1)
    tensor([3., 0.])
    """
    if high == torch.inf:  # where this is no bound, infinity is inside
        return torch.ops.aten.threshold_backward(g, x, low)
    if low == -torch.inf:
        return torch.ops.aten.threshold_backward(g, -x, -high)
    return torch.ops.aten.hardtanh_backward(g, x, low, high)


@functools.lru_cache
def in_dtype(bound: float, dtype: torch.dtype) -> float:
    """The bound as a tensor of this dtype meets it: rounded."""
    return torch.tensor(bound, dtype=dtype).item()


@functools.lru_cache
def below(bound: float, dtype: torch.dtype) -> float:
    """The next number of this dtype: a limit that lets the bound itself in.

    Below 0 that is a subnormal number, and 0 itself under torch.set_flush_denormal(True).
    """
    bound = torch.tensor(bound, dtype=dtype)
    return bound.nextafter(torch.full_like(bound, -torch.inf)).item()


def _bounds(low, high, name):
    if low is None and high is None:
        raise ValueError(f"{name} needs min, max or both, got neither")
    low = -torch.inf if low is None else number(low, "min", name)
    high = torch.inf if high is None else number(high, "max", name)
    if not low <= high:  # also catches NaN
        remedy = "swap them" if low > high else "NaN is no bound"
        raise ValueError(f"{name} needs min ≤ max, got min={low:g} and max={high:g}: {remedy}")
    return low, high
