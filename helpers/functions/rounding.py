"""Rounding, with the gradient of the identity: straight-through estimators."""

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


# The others differ in their value alone.


class FloorSTE(RoundSTE):
    """y = floor(x), dL/dx = dL/dy."""

    @staticmethod
    def forward(x):
        return x.floor()


def floor_ste(x: torch.Tensor) -> torch.Tensor:
    """Round down; otherwise as `round_ste`: value floor(x), gradient g.

    >>> floor_ste(torch.tensor([-0.4, 1.6]))
    tensor([-1.,  1.])
    """
    return apply_anywhere(FloorSTE, floating(x, "floor_ste"), proxy=identity)


class CeilSTE(RoundSTE):
    """y = ceil(x), dL/dx = dL/dy."""

    @staticmethod
    def forward(x):
        return x.ceil()


def ceil_ste(x: torch.Tensor) -> torch.Tensor:
    """Round up; otherwise as `round_ste`: value ceil(x), gradient g.

    >>> ceil_ste(torch.tensor([-1.6, 0.4]))
    tensor([-1.,  1.])
    """
    return apply_anywhere(CeilSTE, floating(x, "ceil_ste"), proxy=identity)


class TruncSTE(RoundSTE):
    """y = trunc(x), dL/dx = dL/dy."""

    @staticmethod
    def forward(x):
        return x.trunc()


def trunc_ste(x: torch.Tensor) -> torch.Tensor:
    """Round towards zero; otherwise as `round_ste`: value trunc(x), gradient g.

    >>> trunc_ste(torch.tensor([-1.6, 1.6]))
    tensor([-1.,  1.])
    """
    return apply_anywhere(TruncSTE, floating(x, "trunc_ste"), proxy=identity)
