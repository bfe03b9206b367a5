"""Rounding, with the gradient of the identity: straight-through estimators."""

from __future__ import annotations

import torch
from torch.autograd import Function

from helpers.functions.anywhere import apply_anywhere, identity
from helpers.functions.checks import floating


class RoundSTE(Function):
    """y = round(x), dL/dx = dL/dy."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass  # backward needs nothing

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def round_ste(x: torch.Tensor) -> torch.Tensor:
    """Round to the nearest integer (halves to even) with the straight-through gradient.

    Value round(x); gradient g for upstream gradient g. Any shape, any floating-point dtype;
    integers and other types raise TypeError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 0.6], requires_grad=True)
    >>> torch.autograd.grad(round_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    return apply_anywhere(RoundSTE, floating(x, "round_ste"), proxy=identity)


class FloorSTE(Function):
    """y = floor(x), dL/dx = dL/dy."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.floor()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass  # backward needs nothing

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def floor_ste(x: torch.Tensor) -> torch.Tensor:
    """Round down with the straight-through gradient.

    Value floor(x); gradient g for upstream gradient g. Any shape, any floating-point dtype;
    integers and other types raise TypeError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(floor_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    return apply_anywhere(FloorSTE, floating(x, "floor_ste"), proxy=identity)


class CeilSTE(Function):
    """y = ceil(x), dL/dx = dL/dy."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.ceil()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass  # backward needs nothing

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def ceil_ste(x: torch.Tensor) -> torch.Tensor:
    """Round up with the straight-through gradient.

    Value ceil(x); gradient g for upstream gradient g. Any shape, any floating-point dtype;
    integers and other types raise TypeError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(ceil_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    return apply_anywhere(CeilSTE, floating(x, "ceil_ste"), proxy=identity)


class TruncSTE(Function):
    """y = trunc(x), dL/dx = dL/dy."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.trunc()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass  # backward needs nothing

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def trunc_ste(x: torch.Tensor) -> torch.Tensor:
    """Round towards zero with the straight-through gradient.

    Value trunc(x); gradient g for upstream gradient g. Any shape, any floating-point dtype;
    integers and other types raise TypeError. Source: arXiv:1308.3432.

    >>> x = torch.tensor([-0.4, 1.6], requires_grad=True)
    >>> torch.autograd.grad(trunc_ste(x), x, torch.tensor([3.0, 5.0]))
    (tensor([3., 5.]),)
    """
    return apply_anywhere(TruncSTE, floating(x, "trunc_ste"), proxy=identity)
