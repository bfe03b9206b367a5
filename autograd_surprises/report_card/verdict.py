"""What a check raises if it does not work, and the comparisons that raise it.

`where` gives the words for the place of a number, such as "at x = 0.5".
"""

from collections.abc import Callable

import torch

from autograd_surprises.numerics import distinct_digits

NameOfPlace = Callable[[int], str]  # index -> where that number is


class SilentlyWrong(Exception):
    """A number is wrong without an error: where, yours and expected, and what to change."""

    def __init__(self, where: str, yours: str, expected: str, remedy: str = ""):
        super().__init__(where)
        self.where, self.yours, self.expected, self.remedy = where, yours, expected, remedy


class NotApplicable(Exception):
    """The question makes no sense for this function; the message says why."""


def require_equal(
    yours: torch.Tensor,
    expected: torch.Tensor,
    where: NameOfPlace,
    remedy: str = "",
    factor: float = 64,
) -> None:
    """Shape and dtype need to agree, and the numbers to `factor` roundings.

    Where NaN is expected, every number passes.
    """
    for what in ("shape", "dtype"):
        mine, wanted = getattr(yours, what), getattr(expected, what)
        if mine != wanted:
            raise SilentlyWrong(f"its {what}", in_words(mine), in_words(wanted), remedy)
    sizes = size(expected.detach().flatten().double())
    largest = sizes.max() if len(sizes) else 0
    tolerance = factor * torch.finfo(expected.dtype).eps * (sizes + largest)
    yours, expected = yours.detach().flatten().double(), expected.detach().flatten().double()
    require_between(yours, expected, expected, tolerance, where, remedy)


def require_between(yours, low, high, tolerance, where: NameOfPlace, remedy: str = "") -> None:
    """Each number needs to lie between low and high."""
    _refuse_first(outside(yours, low, high, tolerance), yours, low, high, where, remedy)


def require_number(yours, expected, where: NameOfPlace, remedy: str = "") -> None:
    """NaN is wrong where another number is expected."""
    spoiled = yours.isnan() & ~expected.isnan()
    _refuse_first(spoiled, yours, expected, expected, where, remedy)


def _refuse_first(wrong, yours, low, high, where, remedy):
    if wrong.any():
        first = wrong.nonzero()[0].item()
        numbers = yours_and_expected(yours[first], low[first], high[first])
        raise SilentlyWrong(where(first), *numbers, remedy)


def outside(yours, low, high, tolerance) -> torch.Tensor:
    """Where `yours` is not between low and high; nowhere if one of these is NaN.

    >>> one, two = torch.tensor([1.0, torch.nan]), torch.tensor([2.0, 2.0])
    >>> outside(torch.tensor([3.0, 3.0]), one, two, 0.5)
    tensor([ True, False])
    """
    known = ~(low.isnan() | high.isnan())
    return known & ~((yours >= low - tolerance) & (yours <= high + tolerance))


def size(*numbers: torch.Tensor) -> torch.Tensor:
    """How large the largest of these is at each place; infinity and NaN count as 0."""
    return torch.stack(numbers).abs().nan_to_num(0, posinf=0).amax(0)


def yours_and_expected(yours: float, low: float, high: float) -> tuple[str, str]:
    """Both as text, told apart.

    >>> yours_and_expected(1.0, 0.0, 0.5), yours_and_expected(1.0000001, 1.0, 1.0)
    (('1', '0 to 0.5'), ('1.0000001', '1'))
    """
    mine, start, stop = distinct_digits(yours, low, high)
    return mine, start if start == stop else f"{start} to {stop}"


def in_words(thing: torch.Size | torch.dtype) -> str:
    """A shape or a dtype, for the reader."""
    return (
        f"shape {tuple(thing)}"
        if isinstance(thing, torch.Size)
        else str(thing).removeprefix("torch.")
    )
