"""A ball that rolls down stairs by a surrogate gradient."""

from autograd_surprises.numerics import short_number
from helpers.explore.drawings.drawing import Drawing
from lessons.stairs import STEPS, Outcome, default_height, gradient_descent, height
from lessons.stairs_picture import StairsPicture


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
        self.figure = StairsPicture()
        self.moving = self.figure.moving

    def show(self, gradient="triangle", start=4.5, width=0.75, steps=STEPS):
        def height_there(x):
            return default_height(x) if gradient == "default" else height(x, gradient, width)

        path = gradient_descent(height_there, start, steps)
        self.figure.show(path)
        if steps < STEPS:
            end = short_number(path[-1], decimals=2)
            return f"at {end} after {steps} {'step' if steps == 1 else 'steps'}"
        return str(Outcome.of(path))
