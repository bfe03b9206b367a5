"""A ball on its way down the stairs, as a figure."""

import torch

from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import draw_light_grid
from lessons.stairs import BOTTOM, STEPS, height


class StairsPicture(Picture):
    """On the left the ball on its way down the stairs, on the right where it is after each step.

    moving  the artists that `show` changes

    >>> from lessons.stairs import gradient_descent
    >>> StairsPicture().show(gradient_descent(height, 4.5))
    """

    def __init__(self):
        super().__init__(8, 3.5)
        stairs, path = self.subplots(1, 2, width_ratios=[1.3, 1])
        x = torch.linspace(-4, 7, 12, dtype=torch.float64)
        look = {"color": VALUE_COLOUR, "lw": 2, "label": "height", "gid": "height"}
        stairs.step(x, height(x), where="post", **look)
        stairs.set(title="the ball on the stairs", xlabel="x", ylabel="height")
        stairs.set(xlim=(-4, 6), ylim=(-0.5, 7))
        path.set(title="x after each step", xlabel="step", ylabel="x")
        path.set(xlim=(-0.8, STEPS + 0.8), ylim=(-4, 6))
        draw_light_grid(stairs, path)
        path.axhspan(*BOTTOM, color=VALUE_COLOUR, alpha=0.25, lw=0, label="the bottom")
        ball = {"color": GRADIENT_COLOUR, "mec": "white"}
        (self._seen,) = stairs.plot(
            [], [], "o", color=GRADIENT_COLOUR, mfc="none", ms=8, label="on its way"
        )
        (self._end,) = stairs.plot([], [], "o", ms=13, label="the ball", **ball)
        (self._start,) = stairs.plot([], [], "*", color="black", mec="white", ms=12, label="start")
        (self._path,) = path.plot([], [], "o-", ms=4, lw=1.2, color=GRADIENT_COLOUR)
        self.moving = [self._seen, self._end, self._start, self._path]
        self.legend_below(columns=5)

    def show(self, path: torch.Tensor):
        """Show the ball at the end of this path, shape (steps + 1,)."""
        heights = height(path) + 0.28  # on the stairs, not in them
        for line, part in ((self._seen, slice(None)), (self._start, [0]), (self._end, [-1])):
            line.set_data(path[part], heights[part])
        self._path.set_data(range(len(path)), path)
