"""Slopes by finite differences: along a curve, in each number of a tensor, and beside a point.

The first two look from x itself and take two values for each side and number, for a whole curve
in one call. `slope_and_limit` looks beyond x: where the value jumps it still finds the
slope on either side, and the limit. It takes twelve values for one number and side.
"""

from collections.abc import Callable
from math import copysign, inf, isfinite, nan

import torch

FARTHER = 16  # a slope counts only if a step so many times as long finds the same
STEPS = 1e-6 * torch.tensor([-1, 1, -FARTHER, FARTHER], dtype=torch.float64)
BESIDE = 1.37e-4  # no number that operations like fmod(1, x) divide evenly


def one_sided_slopes(
    value: Callable, x: torch.Tensor, width: float | torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The slopes of an elementwise function to the left and to the right of each x.

    NaN where there is none to measure: at a jump, a pole, a vertical tangent. The steps are a
    millionth of `width`. x is float64 of shape (n,), and so are the slopes.

    >>> one_sided_slopes(torch.abs, torch.zeros(1).double(), 1.0)
    (tensor([-1.], dtype=torch.float64), tensor([1.], dtype=torch.float64))
    """
    _, left, right = rows_and_slopes(lambda points: [value(points)], x, width)
    return left, right


def rows_and_slopes(
    rows: Callable, x: torch.Tensor, width: float | torch.Tensor, along: int | None = None
) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
    """All rows of numbers at x, and `one_sided_slopes` of the first.

    The first `along` points, or all, are in order: they tell which slopes are usual.
    """
    beside = x + STEPS[:, None] * width
    numbers = rows(torch.cat([x, beside.flatten()]))
    y_beside = numbers[0][len(x) :].view_as(beside)
    numbers = [row[: len(x)] for row in numbers]
    y = numbers[0]
    usual = (y[:along].diff() / x[:along].diff()).abs()
    usual = usual.masked_fill(usual == torch.inf, torch.nan).nanmedian().nan_to_num(0)
    near, far = ((y_beside - y) / (beside - x)).chunk(2)  # not by step: x + step was rounded
    slack = 1e-3 * usual + slope_rounding(y, width)
    return numbers, *_settled(near, far, slack)


def slope_rounding(y: torch.Tensor, width: float | torch.Tensor) -> torch.Tensor:
    """How large a slope of 0 may look to `one_sided_slopes` because the values y are rounded."""
    return 1e-9 * y.abs().nan_to_num(0, posinf=0) / width


def partial_slopes(function: Callable, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The slopes of function(x) to the left and to the right in each number of the tensor x.

    Each of shape (*x.shape, *function(x).shape). NaN where there is none to measure, as near a
    jump or kink, and where a step leaves the domain. Their mean is the central difference.

    >>> partial_slopes(lambda x: x.abs().sum(), torch.zeros(1).double())
    (tensor([-1.], dtype=torch.float64), tensor([1.], dtype=torch.float64))
    """
    y, numbers = function(x), x.flatten()

    def slope(place, side):
        def secant(step):
            beside = numbers.clone()
            beside[place] += step
            return (function(beside.view_as(x)) - y) / (beside[place] - numbers[place])

        step = side * 4e-6 * max(1.0, abs(numbers[place].item()))
        try:
            return _settled(secant(step), secant(FARTHER * step), 1e-4 * (1 + y.abs()))
        except Exception:  # out of the domain
            return torch.full_like(y, nan)

    return tuple(
        torch.stack([slope(place, side) for place in range(len(numbers))]).view(*x.shape, *y.shape)
        for side in (-1, 1)
    )


def _settled(near, far, slack):
    """The slope by a step, NaN unless that by a longer step is the same."""
    size = near.abs()
    sure = (near - far).abs() <= 0.01 * (size + far.abs()) + slack
    return near.where(sure & (size < inf), nan)


def slope_and_limit(value: Callable, x: torch.Tensor, side: int) -> tuple[float, float]:
    """The slope and the limit of the values on one side of the number x: -1 is left, 1 is right.

    x is float64 of shape (1,), and `value` keeps that. The slope is ±inf where it grows with each
    closer look, and NaN where it settles on nothing.

    >>> slope_and_limit(torch.ceil, torch.zeros(1).double(), 1)
    (0.0, 1.0)
    """
    if not isfinite(x):  # nothing lies beside it
        return nan, nan
    looks = [_continued(value, x, side * BESIDE / 16**closer) for closer in range(3)]
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


def _continued(value, x, step):
    """Slope and value at x of the cubic through the values at x + step, ..., x + 4 step."""
    a, b, c, d = (value(x + k * step).item() for k in (1, 2, 3, 4))
    slope = (-26 * a + 57 * b - 42 * c + 11 * d) / (6 * step)
    return slope, 4 * a - 6 * b + 4 * c - d
