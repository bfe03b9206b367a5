"""Rounding to a grid of few bits, as in quantization-aware training."""

import torch
import torch.nn.functional as F
from torch.autograd import Function

from helpers.functions.anywhere import apply_anywhere
from helpers.functions.arithmetic import (
    at_least_float32,
    ends_of_bins,
    sum_of_products,
    where_inside,
)
from helpers.functions.checks import (
    floating,
    holds_everywhere,
    integer,
    integer_range,
    one_per_channel,
    real_number,
)
from helpers.functions.clamping import clamp
from helpers.functions.rounding import round_ste
from helpers.functions.upstream import scale_gradient

SCALES = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max
INTEGERS = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64


class FakeQuantize(Function):
    """y = s · clamp(round(x / s), first, last), for numbers s, first and last.

    dL/dx = dL/dy where the clamp changes nothing, 0 elsewhere.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x, scale, first, last):
        bins = at_least_float32(x).div(scale).round_()
        # clamp_ would do the same, but vmap has no rule for it
        return F.hardtanh_(bins, first, last).mul_(scale).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale, ctx.first, ctx.last = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        below, above = ends_of_bins(ctx.scale, ctx.first, ctx.last, x.dtype, x.device)
        return where_inside(grad_output, x, below, above), None, None, None


def fake_quantize(
    x: torch.Tensor,
    scale: float | torch.Tensor,
    zero_point: int | torch.Tensor = 0,
    quant_min: int = -128,
    quant_max: int = 127,
) -> torch.Tensor:
    """Round to the grid of an integer type, with the straight-through gradient inside its range.

    Value (q − zero_point) · scale with q = clamp(round(x / scale) + zero_point, quant_min,
    quant_max); gradient g for upstream gradient g where the clamp changes nothing, the whole first
    and last bin included, else 0. Per channel: tensors that broadcast to x, such as (channels, 1).
    They get no gradient; `lsq_quantize` learns a scale. Any floating-point dtype; other inputs, and
    a zero point or range that is not of integers, raise TypeError; a scale that is not positive or
    requires a gradient, a zero point outside the range, an empty range or a wrong shape ValueError.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.fake_quantize_per_tensor_affine.html

    >>> x = torch.tensor([0.12, 0.34, 9.0], requires_grad=True)
    >>> y = fake_quantize(x, scale=0.25, quant_min=-8, quant_max=7)
    >>> y.tolist(), torch.autograd.grad(y.sum(), x)
    ([0.0, 0.25, 1.75], (tensor([1., 1., 0.]),))
    """
    floating(x, "fake_quantize")
    low, high = integer_range(quant_min, quant_max, "fake_quantize")
    scale = _checked_scale(scale, x)
    zero_point = _checked_zero_point(zero_point, x, low, high)
    if isinstance(scale, torch.Tensor) or isinstance(zero_point, torch.Tensor):
        q = round_ste(at_least_float32(x) / scale) + zero_point
        q = clamp(q, low, high, bound_gradient=1)
        return ((q - zero_point) * scale).to(x.dtype)
    first, last = low - zero_point, high - zero_point
    return apply_anywhere(FakeQuantize, x, scale, first, last, proxy=fake_quantize_proxy)


def _checked_scale(scale, x):
    smallest, largest = SCALES
    if not isinstance(scale, torch.Tensor):
        if not smallest <= real_number(scale, "scale", "fake_quantize") <= largest:
            raise ValueError(
                f"fake_quantize needs a positive scale that float32 can hold, got {scale}"
            )
        return float(scale)
    floating(scale, "fake_quantize's scale")
    if scale.requires_grad:
        raise ValueError(
            "fake_quantize does not train its scale: use lsq_quantize, or scale.detach()"
        )
    scale = at_least_float32(scale)
    if not holds_everywhere((smallest <= scale) & (scale <= largest)):
        raise ValueError(f"fake_quantize needs a positive scale everywhere, got {scale}")
    return one_per_channel(scale, x, "scale", "fake_quantize")


def _checked_zero_point(zero_point, x, low, high):
    if isinstance(zero_point, torch.Tensor):
        if zero_point.dtype not in INTEGERS:
            raise TypeError(
                "fake_quantize needs an integer tensor as zero_point, got "
                f"{zero_point.dtype}: convert with zero_point.round().int()"
            )
        one_per_channel(zero_point, x, "zero_point", "fake_quantize")
        inside = holds_everywhere((low <= zero_point) & (zero_point <= high))
    else:
        zero_point = integer(zero_point, "zero_point", "fake_quantize")
        inside = low <= zero_point <= high
    if not inside:
        raise ValueError(f"fake_quantize needs a zero_point from {low} to {high}, got {zero_point}")
    return zero_point


class LSQuantize(Function):
    """y = s · round(clamp(x / s, low, high)), and gradients for both x and s.

    dL/dx = dL/dy inside, 0 outside; dL/ds = Σ dL/dy · r · gradient_scale, with r = round(x / s) −
    x / s inside, low below and high above.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x, step_size, low, high, gradient_scale):
        bins = F.hardtanh_(at_least_float32(x) / step_size, low, high).round_()
        return bins.mul_(step_size).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, step_size, ctx.low, ctx.high, ctx.gradient_scale = inputs
        ctx.save_for_backward(x, step_size)

    @staticmethod
    def backward(ctx, grad_output):
        x, step_size = ctx.saved_tensors
        bins = (at_least_float32(x) / step_size).detach()
        g = grad_output.to(bins.dtype)
        grad_x = where_inside(g, bins, ctx.low, ctx.high)
        r = bins.clamp(ctx.low, ctx.high).round_()
        r = r.sub_(where_inside(bins, bins, ctx.low, ctx.high))
        grad_step = ctx.gradient_scale * sum_of_products(g, r, step_size.shape)
        return grad_x.to(x.dtype), grad_step.to(step_size.dtype), None, None, None


def lsq_quantize(
    x: torch.Tensor, step_size: torch.Tensor, quant_min: int = -128, quant_max: int = 127
) -> torch.Tensor:
    """Round to a grid whose step size s is learned, too (learned step size quantization, LSQ).

    Value s · round(clamp(x / s, quant_min, quant_max)). For upstream gradient g, x gets g where
    quant_min < x / s < quant_max, else 0; and s gets Σ g · r / sqrt(n · quant_max), where
    r = round(x / s) − x / s inside, quant_min below and quant_max above, and n numbers of x share
    an s. Second derivatives treat r as a constant, as the paper's own code does. Per channel: a
    step_size that broadcasts to x, such as (channels, 1); keep it positive. Floating-point tensors;
    others raise TypeError, an empty range or a wrong shape ValueError.
    Source: Esser et al. 2020, https://arxiv.org/abs/1902.08153.

    >>> x, s = torch.tensor([0.3, 9.0], requires_grad=True), torch.tensor(0.25, requires_grad=True)
    >>> torch.autograd.grad(lsq_quantize(x, s, -8, 7).sum(), (x, s))
    (tensor([1., 0.]), tensor(1.8174))
    """
    floating(x, "lsq_quantize")
    floating(step_size, "lsq_quantize's step_size")
    low, high = integer_range(quant_min, quant_max, "lsq_quantize")
    if high <= 0:
        raise ValueError(f"lsq_quantize needs a positive quant_max, got {quant_max}")
    one_per_channel(step_size, x, "step_size", "lsq_quantize")
    share = max(1, x.numel()) / max(1, step_size.numel())
    gradient_scale = (share * high) ** -0.5
    return apply_anywhere(
        LSQuantize, x, step_size, low, high, gradient_scale, proxy=lsq_quantize_proxy
    )


# ---- proxies: plain functions that torch differentiates to the same gradients, for apply_anywhere


def fake_quantize_proxy(x: torch.Tensor, scale: float, first: int, last: int) -> torch.Tensor:
    """x where the clamp changes nothing, constant elsewhere."""
    bins = at_least_float32(x).detach().div(scale).round()
    flat_outside = x.detach().clamp((first - 0.5) * scale, (last + 0.5) * scale)
    return torch.where((first <= bins) & (bins <= last), x, flat_outside)


def lsq_quantize_proxy(
    x: torch.Tensor, step_size: torch.Tensor, low: int, high: int, gradient_scale: float
) -> torch.Tensor:
    """The paper's own spelling: round lets the gradient pass, and that of step_size is scaled."""
    step_size = scale_gradient(step_size, gradient_scale)
    bins = clamp(at_least_float32(x) / step_size, low, high, bound_gradient=0)
    return (round_ste(bins) * step_size).to(x.dtype)
