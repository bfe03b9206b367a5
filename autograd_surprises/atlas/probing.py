"""Value, gradient and one-sided slopes of an operation at a few points of its input.

The slopes are measured from values alone, so they check the gradient independently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import copysign, inf, isfinite, nan

import torch

STEP = 1.37e-4  # no number that operations like fmod(1, x) divide evenly
CLOSER = 16  # a slope is measured three times, each time so much closer
DIGITS = 5  # what is kept of each number; further ones differ between processors


@dataclass(frozen=True)
class Probe:
    """What was measured at one number of the input. All are float; NaN: there is none.

    value           of the operation
    gradient        what autograd returns
    left, right     the slope of the values on either side, beyond the point itself
    below, above    the limits of the values from either side, where the slope has one
    """

    value: float
    gradient: float
    left: float
    right: float
    below: float
    above: float


def probe(value: Callable, gradient: Callable, x: torch.Tensor) -> Probe:
    """Measure at the number x, a float64 tensor of shape (1,); both take and return such tensors.

    >>> probe(torch.abs, torch.sgn, torch.zeros(1).double())
    Probe(value=0.0, gradient=0.0, left=-1.0, right=1.0, below=0.0, above=0.0)
    """
    (left, below), (right, above) = (one_side(value, x, side) for side in (-1, 1))
    numbers = (value(x).item(), gradient(x).item(), left, right, below, above)
    return Probe(*map(rounded, numbers))


def one_side(value: Callable, x: torch.Tensor, side: int) -> tuple[float, float]:
    """(slope, limit) of the values on one side of x: -1 is left, 1 is right.

    The slope is ±inf where it grows with each closer look, NaN where it settles on nothing.

    >>> one_side(torch.sqrt, torch.zeros(1).double(), 1)[0]
    inf
    """
    if not isfinite(x):  # nothing lies beside it
        return nan, nan
    looks = [_look(value, x, side * STEP / CLOSER**k) for k in range(3)]
    first, second, third = (slope for slope, _ in looks)
    if not all(map(isfinite, (first, second, third))):
        return nan, nan
    if abs(third - second) <= 1e-3 * abs(third) + 1e-4:
        return tuple(number if abs(number) > 1e-6 else 0.0 for number in looks[1])
    if third > second > first > 0 or third < second < first < 0:
        return copysign(inf, third), nan
    if abs(third) < abs(second) / 2 < abs(first) / 4:
        return 0.0, looks[2][1]  # it dies away, as that of x ** 1.5
    return nan, nan


def _look(value, x, step):
    """Continue the cubic through the values at x + step, ..., x + 4 step back to x."""
    a, b, c, d = (value(x + k * step).item() for k in (1, 2, 3, 4))
    slope = (-26 * a + 57 * b - 42 * c + 11 * d) / (6 * step)
    return slope, 4 * a - 6 * b + 4 * c - d


def close(a: float, b: float) -> bool:
    """Are these the same number, but for rounding in float32? NaN is close to NaN.

    >>> close(0.5, 0.50001), close(0.5, 0.501)
    (True, False)
    """
    if not (isfinite(a) and isfinite(b)):
        return a == b or (a != a and b != b)
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b)) + 1e-6


def rounded(number: float) -> float:
    """Keep five significant digits, and no -0.0.

    >>> rounded(2 / 3)
    0.66667
    """
    short = float(f"{number:.{DIGITS - 1}e}")
    return (short if isfinite(short) else number) + 0.0  # the largest numbers would overflow
