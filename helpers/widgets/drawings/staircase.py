"""A ball that goes down a staircase by the gradient of a surrogate."""

from __future__ import annotations

import torch

from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.lessons.stairs import BOTTOM, STEPS, default_height, descend, height, outcome
from helpers.widgets.drawings.drawing import Drawing


class StaircaseDrawing(Drawing):
    """On the left the ball on its way down the stairs, on the right where it is after each step.

    The lowest stair, from -2 to 0, is the goal. `gradient` is "default" (that of a jump, 0) or the
    surrogate whose slope each edge has, in a width.

    >>> StaircaseDrawing().show(gradient="triangle", start=4.5, width=0.75)
    'reaches the bottom in 7 steps, and rests at -0.88'
    """

    name = "Down the stairs"

    def __init__(self):
        self.parameters = {"gradient": "triangle", "start": 4.5, "width": 0.75}
        self.figure = Picture(8, 3.5)
        stairs, way = self.figure.subplots(1, 2, width_ratios=[1.3, 1])
        x = torch.linspace(-4, 7, 12, dtype=torch.float64)
        stairs.step(x, height(x), where="post", color=VALUE_COLOUR, lw=2, label="height")
        stairs.set(title="the ball on the stairs", xlabel="x", ylabel="height")
        stairs.set(xlim=(-4, 6), ylim=(-0.5, 7))
        way.set(title="x after each step", xlabel="step", ylabel="x")
        way.set(xlim=(-0.8, STEPS + 0.8), ylim=(-4, 6))
        for ax in (stairs, way):
            ax.set_axisbelow(True)
            ax.grid(color="#dddddd", lw=0.6)
        way.axhspan(*BOTTOM, color=VALUE_COLOUR, alpha=0.15, lw=0, label="the bottom")
        ball = {"color": GRADIENT_COLOUR, "mec": "white"}
        (self._seen,) = stairs.plot([], [], "o", alpha=0.35, ms=8, label="on its way", **ball)
        (self._end,) = stairs.plot([], [], "o", ms=13, label=f"after {STEPS} steps", **ball)
        (self._start,) = stairs.plot([], [], "*", color="black", mec="white", ms=12, label="start")
        (self._way,) = way.plot([], [], "o-", ms=4, lw=1.2, color=GRADIENT_COLOUR)
        self.moving = [self._seen, self._end, self._start, self._way]
        self.figure.legend(loc="outside lower center", ncols=5, frameon=False)

    def show(self, gradient="triangle", start=4.5, width=0.75):
        def felt(x):
            return default_height(x) if gradient == "default" else height(x, gradient, width)

        way = descend(felt, start)
        heights = height(way) + 0.28  # on the stairs, not in them
        for line, part in ((self._seen, slice(None)), (self._start, [0]), (self._end, [-1])):
            line.set_data(way[part], heights[part])
        self._way.set_data(range(STEPS + 1), way)
        return str(outcome(way))
