"""Measure at one point: value, gradient, and the slope and limit of the values on either side."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import torch

from autograd_surprises.atlas.probe import Probe
from autograd_surprises.numerics import slope_and_limit


def probe_at(value: Callable, gradient: Callable, x: torch.Tensor, side: str = "") -> Probe:
    """Measure at the number x, a float64 tensor of shape (1,); both take and return such tensors.

    >>> probe_at(torch.abs, torch.sgn, torch.zeros(1).double())
    Probe(value=0.0, gradient=0.0, left=-1.0, right=1.0, below=0.0, above=0.0)
    """
    (left, below), (right, above) = (slope_and_limit(value, x, sign) for sign in (-1, 1))
    numbers = (value(x).item(), gradient(x).item(), left, right, below, above)
    return Probe(*map(rounded, numbers), side)


def rounded(number: float) -> float:
    """Keep five significant digits, for further ones differ between processors; and no -0.0.

    >>> rounded(2 / 3)
    0.66667
    """
    short = float(f"{number:.4e}")
    return (short if isfinite(short) else number) + 0.0  # the largest numbers would overflow
