"""Numbers as text, with as few digits as needed; never -0."""

import torch


def few_digits(number: float, digits: int = 5) -> str:
    """A number with at most so many significant digits.

    >>> few_digits(2 / 3), few_digits(1e12), few_digits(-0.0)
    ('0.66667', '1e+12', '0')
    """
    return f"{float(number) + 0.0:.{digits}g}"


def short_number(number: object, decimals: int = 3) -> str:
    """A number with at most that many decimals, and without the sign of -0.

    >>> short_number(torch.tensor(-0.00001)), short_number(1 / 3, decimals=2)
    ('0', '0.33')
    """
    return f"{round(float(number), decimals) + 0.0:g}"


def exact_digits(number: float, dtype: torch.dtype = torch.float64) -> str:
    """A number of this dtype with as few digits (but 6) as tell it from all others.

    >>> exact_digits(0.5), exact_digits(1 + 2**-52), exact_digits(1 + 2**-23, torch.float32)
    ('0.5', '1.0000000000000002', '1.0000001')
    """
    texts = (few_digits(number, digits) for digits in range(6, 18))
    return next(text for text in texts if torch.tensor(float(text), dtype=dtype).item() == number)


def distinct_digits(number: float, *others: float) -> list[str]:
    """A number and some others, with as many digits as tell it from each of them.

    >>> distinct_digits(1.0000001, 1.0), distinct_digits(2 / 3, 0.0, 1.0)
    (['1.0000001', '1'], ['0.6667', '0', '1'])
    """
    for digits in (4, 9, 17):
        text, *rest = (few_digits(each, digits) for each in (number, *others))
        if text not in rest:
            break
    return [text, *rest]
