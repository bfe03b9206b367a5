"""What a surrogate gradient lets through: its shape, and how many inputs it reaches."""

import torch

from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from helpers.curves.axes import draw_light_grid
from helpers.curves.figures import SURROGATE, surrogate_values, with_gaps
from helpers.curves.marks import FrameMarks
from helpers.curves.numbers import gradient_curve
from helpers.explore.drawings.drawing import Drawing
from helpers.functions import SURROGATES, value_with_gradient_of

REACH = 3.0  # the picture goes from -REACH to REACH
# the value, and how far x is to the right of its nearest jump
OPERATORS = {
    "step": (lambda x: (x >= 0).to(x.dtype), lambda x: x),
    "sign": (torch.sign, lambda x: x),
    "round": (torch.round, lambda x: x - x.detach().floor() - 0.5),
}
NORMAL = torch.distributions.Normal(torch.tensor(0.0, dtype=torch.float64), 1.0)
INPUTS = NORMAL.icdf((torch.arange(2000, dtype=torch.float64) + 0.5) / 2000)  # evenly spread


class SurrogateDrawing(Drawing):
    """An operator and its surrogate function on the left, its gradient over inputs on the right.

    At each x, the nearest jump of step, sign or round has a surrogate of `helpers.functions.step`
    of this width. The bell is the density of normal inputs; its filled part gets a gradient.

    >>> SurrogateDrawing().show(operator="step", surrogate="triangle", width=1.0)
    '68.3 % of normal inputs get a gradient, 0.37 on average'
    """

    name = "What a surrogate lets through"

    def __init__(self):
        self.figure = Picture(8, 3.8)
        value_ax, gradient_ax = self.figure.subplots(1, 2)
        value_ax.set(title="value", ylim=(-3.2, 3.2))
        gradient_ax.set(title="gradient, and density of the inputs", ylim=(-0.06, 1.12))
        for ax in (value_ax, gradient_ax):
            ax.set(xlabel="x", xlim=(-REACH, REACH))
        draw_light_grid(value_ax, gradient_ax)
        (self._value,) = value_ax.plot([], [], color=VALUE_COLOUR, lw=2, label="value", gid="value")
        (self._surrogate,) = value_ax.plot([], [], gid="surrogate function", **SURROGATE)
        (self._gradient,) = gradient_ax.plot(
            [], [], color=GRADIENT_COLOUR, lw=3, label="autograd's gradient", gid="gradient"
        )
        bell = {"color": VALUE_COLOUR, "lw": 1.2, "label": "density of normal inputs"}
        x = torch.linspace(-REACH, REACH, 121, dtype=torch.float64)
        (line,) = gradient_ax.plot(x, NORMAL.log_prob(x).exp(), ls=":", **bell)
        self._reached = gradient_ax.fill_between(
            [], [], color=VALUE_COLOUR, alpha=0.25, lw=0, label="inputs with a gradient"
        )
        self._marks = FrameMarks(gradient_ax, GRADIENT_COLOUR)
        self.moving = [
            self._value, self._surrogate, self._reached, self._gradient, *self._marks.artists
        ]  # fmt: skip
        handles = [self._value, self._surrogate, self._gradient, line, self._reached]
        self.figure.legend_below(handles=handles, columns=3)

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
