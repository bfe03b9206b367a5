"""A vector of the plane as an arrow, and the angle between two of them."""

import math
from collections.abc import Sequence

import torch
from matplotlib.axes import Axes

from helpers.curves.axes import DASHED

HEAD, OPENING = 0.05, 0.4  # the length of the head, as a share of the axes; half its angle


class Arrow:
    """An arrow, from the origin or elsewhere. It is made of lines, which an explorer moves fast.

    line     its shaft, for a legend
    artists  all of its parts

    >>> from autograd_surprises.show.picture import Picture
    >>> Arrow(Picture(4, 3).subplots(), "black").point_to((1.0, 1.0))
    """

    def __init__(self, ax: Axes, colour: str, *, dashed: bool = False):
        dashes = {"ls": DASHED, "lw": 2} if dashed else {"lw": 3}
        (self.line,) = ax.plot([], [], color=colour, **dashes)
        (self._head,) = ax.plot([], [], color=colour, lw=dashes["lw"], solid_joinstyle="miter")
        self.artists = [self.line, self._head]
        # of what the axes show; lengths of a head are shares of it
        self._room = [high - low for low, high in (ax.get_xlim(), ax.get_ylim())]

    def point_to(self, tip: Sequence[float], start: Sequence[float] = (0.0, 0.0)):
        """Move the arrow: it leads from `start` to this tip."""
        (x, y), (x0, y0) = tip, start
        self.line.set_data([x0, x], [y0, y])
        across, up = (x - x0) / self._room[0], (y - y0) / self._room[1]
        length = min(HEAD, math.hypot(across, up))  # a short arrow has a short head
        back = math.atan2(up, across) + math.pi
        sides = [
            (
                x + length * self._room[0] * math.cos(back + turn),
                y + length * self._room[1] * math.sin(back + turn),
            )
            for turn in (-OPENING, OPENING)
        ]
        self._head.set_data(*zip(sides[0], (x, y), sides[1], strict=True))


def angle_between(first: torch.Tensor, second: torch.Tensor) -> float:
    """The angle between two vectors, or two tensors as vectors, in degrees; NaN if one is 0.

    >>> angle_between(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))
    90.0
    """
    first, second = first.flatten().double(), second.flatten().double()
    if not first.any() or not second.any():
        return math.nan
    first, second = first / first.norm(), second / second.norm()
    # exact for small angles, too, where the cosine is rounded to 1
    return math.degrees(2 * math.atan2((first - second).norm(), (first + second).norm()))
