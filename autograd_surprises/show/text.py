"""Numbers as short text."""

from __future__ import annotations


def short_number(number: object, decimals: int = 3) -> str:
    """A number with at most that many decimals, and without the sign of -0.

    >>> short_number(torch.tensor(-0.00001)), short_number(1 / 3, decimals=2)
    ('0', '0.33')
    """
    return f"{round(float(number), decimals) + 0.0:g}"
