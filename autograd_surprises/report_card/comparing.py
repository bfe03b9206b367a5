"""Are these numbers right? If not, SilentlyWrong names the first that is not.

`where` gives the words for the place of a number, such as "at x = 0.5".
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograd_surprises.numerics import distinct_digits
from autograd_surprises.report_card.verdict import SilentlyWrong

Where = Callable[[int], str]


def require_equal(
    yours: torch.Tensor, expected: torch.Tensor, where: Where, remedy: str = "", factor: float = 64
) -> None:
    """Shape and dtype need to agree, and the numbers to `factor` roundings; NaN is unknown.

    >>> require_equal(torch.ones(2), torch.ones(2), "place {}".format)
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


def require_between(yours, low, high, tolerance, where: Where, remedy: str = "") -> None:
    """Each number needs to lie between low and high.

    >>> one = torch.ones(1)
    >>> require_between(one, one, one, 0.0, "place {}".format)
    """
    _refuse_first(outside(yours, low, high, tolerance), yours, low, high, where, remedy)


def require_number(yours, expected, where: Where, remedy: str = "") -> None:
    """NaN is wrong where another number is expected.

    >>> require_number(torch.tensor([torch.nan]), torch.tensor([torch.nan]), "place {}".format)
    """
    spoiled = yours.isnan() & ~expected.isnan()
    _refuse_first(spoiled, yours, expected, expected, where, remedy)


def _refuse_first(wrong, yours, low, high, where, remedy):
    if wrong.any():
        first = wrong.nonzero()[0].item()
        numbers = yours_and_expected(yours[first], low[first], high[first])
        raise SilentlyWrong(where(first), *numbers, remedy)


def outside(yours, low, high, tolerance) -> torch.Tensor:
    """Where `yours` is not between low and high; where these are NaN, nobody knows.

    >>> one, two = torch.tensor([1.0, torch.nan]), torch.tensor([2.0, 2.0])
    >>> outside(torch.tensor([3.0, 3.0]), one, two, 0.5)
    tensor([ True, False])
    """
    known = ~(low.isnan() | high.isnan())
    return known & ~((yours >= low - tolerance) & (yours <= high + tolerance))


def size(numbers: torch.Tensor) -> torch.Tensor:
    """How large each number is; 0 for infinity and NaN.

    >>> size(torch.tensor([-2.0, torch.inf]))
    tensor([2., 0.])
    """
    return numbers.abs().nan_to_num(0, posinf=0)


def yours_and_expected(yours: float, low: float, high: float) -> tuple[str, str]:
    """Both as text, told apart.

    >>> yours_and_expected(1.0, 0.0, 0.5), yours_and_expected(1.0000001, 1.0, 1.0)
    (('1', '0 to 0.5'), ('1.0000001', '1'))
    """
    mine, start, stop = distinct_digits(yours, low, high)
    return mine, start if start == stop else f"{start} to {stop}"


def in_words(thing: torch.Size | torch.dtype) -> str:
    """A shape or a dtype, for the reader.

    >>> in_words(torch.Size([2, 3])), in_words(torch.float32)
    ('shape (2, 3)', 'float32')
    """
    return f"shape {tuple(thing)}" if isinstance(thing, torch.Size) else str(thing)[6:]
