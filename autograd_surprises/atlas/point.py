"""A point of the atlas: a number, or the floating-point number next to one."""

from __future__ import annotations

from math import copysign, isnan

import torch


class Point(str):
    """The name of a point, as files and tables have it: "0", "-0", "nan", "<0.5" or ">0.5".

    "<0.5" and ">0.5" are the floating-point numbers next to 0.5. Next to 0 they are the smallest
    normal numbers, because processors may flush smaller ones to 0.

    >>> Point("<1").side, Point("<1").number, Point("<1").in_words
    ('<', 1.0, 'a hair below 1')
    """

    @property
    def side(self) -> str:
        """ "<" or ">" for a neighbour, "" for the number itself."""
        return self[0] if self[0] in "<>" else ""

    @property
    def middle(self) -> Point:
        """The point without its side."""
        return Point(self.removeprefix(self.side))

    @property
    def number(self) -> float:
        """The number, or the one that a neighbour is next to."""
        return float(self.middle)

    @property
    def order(self) -> tuple:
        """Sorts points along the number line, NaN last."""
        side = {"<": -1, "": 0, ">": 1}[self.side]
        return isnan(self.number), self.number, side, copysign(1, self.number)

    @property
    def in_words(self) -> str:
        """Its name as a sentence has it."""
        return {"<": "a hair below ", "": "", ">": "a hair above "}[self.side] + self.middle

    def tensor(self, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """The point itself, a tensor of shape (1,).

        >>> Point("<1").tensor().item(), Point("<1").tensor(torch.float32).item()
        (0.9999999999999999, 0.9999999403953552)
        """
        x = torch.tensor([self.number], dtype=dtype)
        if not self.side:
            return x
        sign = {"<": -1, ">": 1}[self.side]
        return x.nextafter(x + sign) if x else sign * torch.full_like(x, torch.finfo(dtype).tiny)


# Every operation is measured at these: a few plain numbers, and where exp overflows, in float64
# and in float32.
PLAIN = tuple(map(Point, ("-4.3", "-1.7", "-0.3", "0.3", "1.7", "4.3")))
FAR = tuple(map(Point, ("-inf", "-1000", "-100", "100", "1000", "inf")))
STANDARD = (*PLAIN, *FAR, Point("-0"), Point("0"), Point("nan"))
