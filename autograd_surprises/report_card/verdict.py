"""How a question ends, and how numbers are compared."""

from __future__ import annotations

from collections.abc import Callable

import torch


class Wrong(Exception):
    """Silently wrong: where, yours and expected, and what to change."""

    def __init__(self, where: str, yours: str, expected: str, remedy: str = ""):
        super().__init__(where)
        self.where, self.yours, self.expected, self.remedy = where, yours, expected, remedy


class NotApplicable(Exception):
    """The question makes no sense for this function, and why."""


def outside(yours, low, high, tolerance) -> torch.Tensor:
    """Where `yours` is not between low and high; where these are NaN, nobody knows.

    >>> one, two = torch.tensor([1.0, torch.nan]), torch.tensor([2.0, 2.0])
    >>> outside(torch.tensor([3.0, 3.0]), one, two, 0.5)
    tensor([ True, False])
    """
    known = ~(low.isnan() | high.isnan())
    return known & ~((yours >= low - tolerance) & (yours <= high + tolerance))


def require_equal(
    yours: torch.Tensor,
    expected: torch.Tensor,
    where: Callable[[int], str],
    remedy: str = "",
    factor: float = 64,
) -> None:
    """Raise Wrong unless shape and dtype agree, and the numbers to `factor` roundings.

    >>> require_equal(torch.ones(2), torch.ones(2), "place {}".format)
    """
    for what in ("shape", "dtype"):
        mine, wanted = getattr(yours, what), getattr(expected, what)
        if mine != wanted:
            raise Wrong(f"its {what}", _plain(mine), _plain(wanted), remedy)
    tolerance = rounding(expected, factor)
    yours, expected = yours.detach().flatten().double(), expected.detach().flatten().double()
    require_between(yours, expected, expected, tolerance.flatten(), where, remedy)


def require_between(yours, low, high, tolerance, where, remedy="") -> None:
    """Raise Wrong at the first place that is outside of low and high.

    >>> one = torch.ones(1)
    >>> require_between(one, one, one, 0.0, "place {}".format)
    """
    wrong = outside(yours, low, high, tolerance).nonzero().flatten()
    if len(wrong):
        first = wrong[0].item()
        numbers = span(yours[first], low[first], high[first])
        raise Wrong(where(first), *numbers, remedy)


def require_number(yours, expected, where, remedy="") -> None:
    """Raise Wrong at the first place where yours is NaN, and expected is not.

    >>> require_number(torch.tensor([torch.nan]), torch.tensor([torch.nan]), "place {}".format)
    """
    spoiled = (yours.isnan() & ~expected.isnan()).nonzero().flatten()
    if len(spoiled):
        first = spoiled[0].item()
        raise Wrong(where(first), *span(yours[first], expected[first], expected[first]), remedy)


def rounding(expected: torch.Tensor, factor: float) -> torch.Tensor:
    """`factor` roundings of each number and of the largest one, in float64.

    >>> rounding(torch.tensor([1.0]), 1) < 1e-6
    tensor([True])
    """
    sizes = size(expected.detach().double())
    largest = sizes.max() if sizes.numel() else 0
    return factor * torch.finfo(expected.dtype).eps * (sizes + largest)


def size(numbers: torch.Tensor) -> torch.Tensor:
    """How large each number is; 0 for infinity and NaN.

    >>> size(torch.tensor([-2.0, torch.inf]))
    tensor([2., 0.])
    """
    return numbers.abs().nan_to_num(0, posinf=0)


def span(yours, low, high) -> tuple[str, str]:
    """Yours and expected as text, with as many digits as it takes to tell them apart.

    >>> span(1.0, 0.0, 0.5), span(1.0000001, 1.0, 1.0)
    (('1', '0 to 0.5'), ('1.0000001', '1'))
    """
    for digits in (4, 9, 17):
        mine, start, stop = (f"{float(number) + 0.0:.{digits}g}" for number in (yours, low, high))
        if mine not in (start, stop):
            break
    return mine, start if start == stop else f"{start} to {stop}"


def _plain(thing):
    return f"shape {tuple(thing)}" if isinstance(thing, torch.Size) else str(thing)[6:]
