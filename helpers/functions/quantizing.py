"""Rounding to a grid of few bits, as in quantization-aware training."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F

from helpers.functions.checks import (
    floating,
    holds_everywhere,
    integer,
    integer_range,
    number,
    one_per_channel,
)
from helpers.functions.clamping import between, clamp
from helpers.functions.elementwise import Elementwise, RemembersSignature, apply_anywhere, wide
from helpers.functions.rounding import round_ste
from helpers.functions.upstream import scale_gradient

SCALES = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max


class FakeQuantize(Elementwise):
    """y = s · clamp(round(x / s), first, last), for numbers s, first and last.

    dL/dx = dL/dy where the clamp changes nothing, 0 elsewhere.
    """

    examples = ((0.5, -3, 2),)

    @staticmethod
    def forward(x, scale, first, last):
        bins = wide(x).div(scale).round_()
        return F.hardtanh_(bins, first, last).mul_(scale).to(x.dtype)

    @staticmethod
    def times_slope(g, x, scale, first, last):
        after_last = end_of_bin(last, scale, x.dtype, x.device)
        before_first = -end_of_bin(-first, scale, x.dtype, x.device)
        return between(g, x, before_first, after_last)

    @staticmethod
    def proxy(x, scale, first, last):
        bins = wide(x).detach().div(scale).round()
        flat_outside = x.detach().clamp((first - 0.5) * scale, (last + 0.5) * scale)
        return torch.where((first <= bins) & (bins <= last), x, flat_outside)


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
    asks for a gradient, a zero point outside the range, an empty range or a wrong shape ValueError.
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
        q = round_ste(wide(x) / scale) + zero_point
        q = clamp(q, low, high, bound_gradient=1)
        return ((q - zero_point) * scale).to(x.dtype)
    return apply_anywhere(FakeQuantize, x, scale, low - zero_point, high - zero_point)


def _checked_scale(scale, x):
    smallest, largest = SCALES
    if not isinstance(scale, torch.Tensor):
        if not smallest <= number(scale, "scale", "fake_quantize") <= largest:
            raise ValueError(
                f"fake_quantize needs a positive scale that float32 can hold, got {scale}"
            )
        return float(scale)
    floating(scale, "fake_quantize's scale")
    if scale.requires_grad:
        raise ValueError(
            "fake_quantize does not train its scale: use lsq_quantize, or scale.detach()"
        )
    scale = wide(scale)
    if not holds_everywhere((smallest <= scale) & (scale <= largest)):
        raise ValueError(f"fake_quantize needs a positive scale everywhere, got {scale}")
    return one_per_channel(scale, x, "scale", "fake_quantize")


def _checked_zero_point(zero_point, x, low, high):
    if isinstance(zero_point, torch.Tensor):
        if zero_point.is_floating_point():
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


class LSQuantize(RemembersSignature):
    """y = s · round(clamp(x / s, low, high)), and gradients for both x and s. Saves x and s.

    dL/dx = dL/dy inside, 0 outside; dL/ds = Σ dL/dy · r · gradient_scale, with r = round(x / s) −
    x / s inside, low below and high above.
    """

    generate_vmap_rule = True  # forward and backward are made of operations that vmap knows
    examples = ((torch.tensor(0.5), -3, 2, 1.0),)

    @staticmethod
    def forward(x, step_size, low, high, gradient_scale):
        bins = F.hardtanh_(wide(x) / step_size, low, high).round_()
        return bins.mul_(step_size).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, step_size, *ctx.parameters = inputs
        ctx.save_for_backward(x, step_size)
        ctx.save_for_forward(x, step_size)  # jvp of vmap needs it to find out that there is no jvp

    @staticmethod
    def backward(ctx, grad_output):
        x, step_size = ctx.saved_tensors
        low, high, gradient_scale = ctx.parameters
        bins = (wide(x) / step_size).detach()
        g = grad_output.to(bins.dtype)
        grad_x = between(g, bins, low, high).to(x.dtype)
        grad_step = sum_of_products(g, residual(bins, low, high), step_size.shape)
        return grad_x, (gradient_scale * grad_step).to(step_size.dtype), None, None, None

    @staticmethod
    def proxy(x, step_size, low, high, gradient_scale):
        step_size = scale_gradient(step_size, gradient_scale)
        bins = clamp(wide(x) / step_size, low, high, bound_gradient=0)
        return (round_ste(bins) * step_size).to(x.dtype)


def lsq_quantize(
    x: torch.Tensor, step_size: torch.Tensor, quant_min: int = -128, quant_max: int = 127
) -> torch.Tensor:
    """Round to a grid whose step size s is learned, too (learned step size quantization, LSQ).

    Value s · round(clamp(x / s, quant_min, quant_max)). For upstream gradient g, x gets g where
    quant_min < x / s < quant_max, else 0; and s gets Σ g · r / sqrt(n · quant_max), where
    r = round(x / s) − x / s inside, quant_min below and quant_max above, and n numbers of x share
    an s. Second derivatives take r for a constant, as the paper's own code does. Per channel: a
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
    return apply_anywhere(LSQuantize, x, step_size, low, high, gradient_scale)


def sum_of_products(a: torch.Tensor, b: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """a · b, summed to a shape from which b was broadcast.

    >>> sum_of_products(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.Size([1]))
    tensor([11.])
    """
    if shape.numel() == 1:  # without a tensor of products
        return inner_product(a.reshape(-1), b.reshape(-1)).reshape(shape)
    return (a * b).sum_to_size(shape)


def inner_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Σ a · b, half by half: torch.dot alone is exact to 3 digits only for ten million numbers.

    >>> inner_product(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if len(a) <= 2**17:
        return torch.dot(a, b)
    middle = len(a) // 2
    return inner_product(a[:middle], b[:middle]) + inner_product(a[middle:], b[middle:])


def residual(bins: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """What rounding and clamping change: round(v) − v inside, low below, high above.

    >>> residual(torch.tensor([0.75, 9.0]), -8, 7)
    tensor([0.2500, 7.0000])
    """
    return bins.clamp(low, high).round_().sub_(between(bins, bins, low, high))


@functools.lru_cache
def end_of_bin(n: int, scale: float, dtype: torch.dtype, device: torch.device) -> float:
    """The first number above all that x / scale rounds to n: tried out, for division rounds, too.

    >>> end_of_bin(1, 0.5, torch.float32, torch.device("cpu"))  # 0.75 rounds to 2
    0.75
    """
    finest = torch.promote_types(dtype, torch.float32)
    guess = torch.tensor((n + 0.5) * scale, dtype=finest, device=device)
    bits = guess.view(torch.int64 if finest is torch.float64 else torch.int32)
    nearby = (bits + torch.arange(-4, 5, device=device)).to(bits.dtype).view(finest)
    inside = (nearby / scale).round() <= n
    return nearby[inside.sum()].item()
