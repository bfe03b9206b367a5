"""A ball that rolls down stairs by a surrogate gradient."""

from __future__ import annotations

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import draw_light_grid
from helpers.lessons.stairs import BOTTOM, STEPS, Outcome, default_height, gradient_descent, height
from helpers.widgets.drawings.drawing import Drawing


class StaircaseDrawing(Drawing):
    """On the left the ball on its way down the stairs, on the right where it is after each step.

    The goal is the lowest stair, from -2 to 0. `gradient` is "default" (torch's own, which is 0)
    or the name of the surrogate that gives each edge its gradient, `width` wide. The ball is shown
    after `steps` steps.

    >>> drawing = StaircaseDrawing(); drawing.show(gradient="triangle", start=4.5, width=0.75)
    'reaches the bottom in 7 steps, and rests at -0.88'
    >>> drawing.show(steps=1)
    'at 4.17 after 1 step'
    """

    name = "Down the stairs"

    def __init__(self):
        self.figure = Picture(8, 3.5)
        stairs, path = self.figure.subplots(1, 2, width_ratios=[1.3, 1])
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
        self.figure.legend_below(columns=5)

    def show(self, gradient="triangle", start=4.5, width=0.75, steps=STEPS):
        if not 0 <= steps <= STEPS:
            raise ValueError(f"steps needs to be from 0 to {STEPS}, got {steps}")

        def height_there(x):
            return default_height(x) if gradient == "default" else height(x, gradient, width)

        path = gradient_descent(height_there, start, steps)
        heights = height(path) + 0.28  # on the stairs, not in them
        for line, part in ((self._seen, slice(None)), (self._start, [0]), (self._end, [-1])):
            line.set_data(path[part], heights[part])
        self._path.set_data(range(steps + 1), path)
        if steps < STEPS:
            end = short_number(path[-1], decimals=2)
            return f"at {end} after {steps} {'step' if steps == 1 else 'steps'}"
        return str(Outcome.of(path))
