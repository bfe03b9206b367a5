"""What a surrogate gradient lets through, and a ball that rolls down stairs by it."""

import torch

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import draw_light_grid
from helpers.curves.figures import SURROGATE, surrogate_values, with_gaps
from helpers.curves.marks import FrameMarks
from helpers.curves.numbers import gradient_curve
from helpers.explore.drawings.drawing import Drawing
from helpers.functions import SURROGATES, value_with_gradient_of
from lessons.drawings.panel import PanelDrawing
from lessons.surrogate_gradients.stairs import (
    BOTTOM,
    STEPS,
    Outcome,
    default_height,
    gradient_descent,
    height,
)


class StairsPicture(Picture):
    """On the left the ball on its way down the stairs, on the right where it is after each step.

    moving  the artists that `show` changes

    >>> from lessons.surrogate_gradients.stairs import gradient_descent
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


REACH = 3.0  # the picture goes from -REACH to REACH
# the value, and how far x is to the right of its nearest jump
OPERATORS = {
    "step": (lambda x: (x >= 0).to(x.dtype), lambda x: x),
    "sign": (torch.sign, lambda x: x),
    "round": (torch.round, lambda x: x - x.detach().floor() - 0.5),
}
NORMAL = torch.distributions.Normal(torch.tensor(0.0, dtype=torch.float64), 1.0)
INPUTS = NORMAL.icdf((torch.arange(2000, dtype=torch.float64) + 0.5) / 2000)  # evenly spread


class SurrogateDrawing(PanelDrawing):
    """An operator and its surrogate function on the left, its gradient over inputs on the right.

    At each x, the nearest jump of step, sign or round has a surrogate of `helpers.functions.step`
    of this width. The bell is the density of normal inputs; its filled part gets a gradient.

    >>> SurrogateDrawing().show(operator="step", surrogate="triangle", width=1.0)
    '68.3 % of normal inputs get a gradient, 0.37 on average'
    """

    name = "What a surrogate lets through"

    def __init__(self):
        value_ax, gradient_ax = self.panels(8, 3.8, "value", "gradient, and density of the inputs")
        value_ax.set(xlabel="x", xlim=(-REACH, REACH), ylim=(-3.2, 3.2))
        gradient_ax.set(xlabel="x", xlim=(-REACH, REACH), ylim=(-0.06, 1.12))
        self._value = self.line(value_ax, VALUE_COLOUR, lw=2, gid="value")
        (surrogate,) = value_ax.plot([], [], gid="surrogate function", **SURROGATE)
        self._surrogate = self.add(surrogate)
        bell = torch.linspace(-REACH, REACH, 121, dtype=torch.float64)
        bell = bell, NORMAL.log_prob(bell).exp()
        (density,) = gradient_ax.plot(*bell, ls=":", color=VALUE_COLOUR, lw=1.2)
        fill = gradient_ax.fill_between([], [], color=VALUE_COLOUR, alpha=0.25, lw=0)
        self._reached = self.add(fill)
        self._gradient = self.line(gradient_ax, GRADIENT_COLOUR, lw=3, gid="gradient")
        self._marks = FrameMarks(gradient_ax, GRADIENT_COLOUR)
        self.moving += self._marks.artists
        curves = {"value": self._value, "surrogate function": surrogate}
        curves["autograd's gradient"] = self._gradient
        inputs = {"density of normal inputs": density, "inputs with a gradient": fill}
        self.legend(curves | inputs, columns=3)

    def show(self, operator="step", surrogate="triangle", width=1.0):
        value, from_jump = OPERATORS[operator]
        surrogate_function = SURROGATES[surrogate].function

        def function(x):
            return value_with_gradient_of(value(x), surrogate_function(from_jump(x), width))

        curve = gradient_curve(function, x=(-REACH, REACH))
        jumps = curve.jumps(curve.y)
        self._value.set_data(with_gaps(curve.x, jumps), with_gaps(curve.y, jumps))
        self._surrogate.set_data(curve.x, surrogate_values(curve))
        jumps = curve.jumps(curve.grad)
        self._gradient.set_data(with_gaps(curve.x, jumps), with_gaps(curve.grad, jumps))
        self._marks.show(curve.x, curve.grad)
        self._fill_bell(curve)
        inputs = INPUTS.clone().requires_grad_()
        (grad,) = torch.autograd.grad(function(inputs).sum(), inputs)
        share = 100 * (grad != 0).double().mean().item()
        return f"{share:.1f} % of normal inputs get a gradient, {grad.mean():.2g} on average"

    def _fill_bell(self, curve):
        density = torch.where(curve.grad != 0, NORMAL.log_prob(curve.x).exp(), 0)
        outline = torch.stack([curve.x, density], dim=1).tolist()
        self._reached.set_verts([[(-REACH, 0.0), *outline, (REACH, 0.0)]])
