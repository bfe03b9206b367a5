"""Where the clip of PPO lets a gradient through, and where it has none."""

import torch
from matplotlib.patches import Rectangle

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, LINE_GREY, SLOPE_COLOUR, VALUE_COLOUR
from helpers.curves.axes import DASHED, draw_handle, shading
from helpers.curves.figures import with_gaps
from helpers.curves.marks import ON_WHITE
from lessons.drawings.panel import PanelDrawing

LARGEST = 2.5  # ratio that is shown
REACH = 4.4  # of the vertical axes: an advantage of 1.5 at this ratio, and some room
# Odd multiples of half a step, so that none of them is at a bound.
STEP = LARGEST / 600
RATIOS = (torch.arange(600, dtype=torch.float64) + 0.5) * STEP


class RatioClipDrawing(PanelDrawing):
    """On the left the clipped objective of PPO, on the right its slope in log p.

    The objective is min(ratio · advantage, clamp(ratio, low, high) · advantage), or the second of
    the two alone. The ratio is that of the new probability to the old one. Where the gradient
    jumps, the full dot belongs to the curve and the hollow one does not.

    >>> RatioClipDrawing().show(ratio=1.5)
    'p / p_old 1.5, advantage 1: objective 1.2, gradient 0: the clip stops it'
    """

    name = "The clip of PPO"
    handles = ({"axes": 0, "names": ["ratio", None]},)
    light = ("ratio",)

    def __init__(self):
        axes = self.panels(8, 3.6, "objective", "gradient with respect to log p")
        for ax in axes:
            ax.set(xlim=(0, LARGEST), ylim=(-REACH, REACH), xlabel="p / p_old", yticks=range(-4, 5))
            ax.axhline(0, color=LINE_GREY, lw=1)
        value_ax, gradient_ax = axes
        self._flat = [
            [
                self.add(ax.add_patch(Rectangle((0, 0), 0, 0, **shading(SLOPE_COLOUR))))
                for ax in axes
            ]
            for _ in range(2)
        ]
        lines = {
            name: self.line(ax, colour, gid=name, **look)
            for name, ax, colour, look in (
                ("ratio · advantage", value_ax, SLOPE_COLOUR, {"ls": DASHED, "lw": 1.5}),
                ("objective", value_ax, VALUE_COLOUR, {"lw": 3}),
                ("gradient", gradient_ax, GRADIENT_COLOUR, {"lw": 3}),
            )
        }
        self._unclipped, self._value, self._gradient = lines.values()
        look = {"mec": GRADIENT_COLOUR, "ms": 6}  # as in helpers.curves
        self._rings = self.line(gradient_ax, GRADIENT_COLOUR, "o", mfc="white", **look)
        self._ends = self.line(gradient_ax, GRADIENT_COLOUR, "o", **look)
        self._dot = self.add(draw_handle(value_ax))
        self._at = self.line(gradient_ax, SLOPE_COLOUR, "o", ms=9)
        self._says = self.words(gradient_ax, 0.97 * LARGEST, 0.83 * REACH, ha="right", **ON_WHITE)
        self.legend({**lines, "no gradient": self._flat[0][0]})

    def show(self, advantage=1.0, ratio=1.5, low=0.8, high=1.2, minimum=True):
        settings = advantage, low, high, minimum
        ratios = torch.cat([RATIOS, torch.tensor([low, high], dtype=RATIOS.dtype)]).sort().values
        value, gradient = _measured(ratios, *settings)
        flat = gradient == 0
        jumps = flat.diff().nonzero().flatten().tolist()
        ends = [i + flat[i].item() for i in jumps]  # at the bounds
        self._unclipped.set_data([0, LARGEST], [0, LARGEST * advantage])
        self._value.set_data(ratios.numpy(), value.numpy())
        self._gradient.set_data(with_gaps(ratios, jumps), with_gaps(gradient, jumps))
        self._ends.set_data(ratios[ends].numpy(), gradient[ends].numpy())
        self._rings.set_data(ratios[ends].numpy(), [0] * len(ends))
        self._shade(0, ratios[flat & (ratios < 1)])
        self._shade(1, ratios[flat & (ratios >= 1)])
        (y,), (slope,) = _measured(torch.tensor([ratio], dtype=torch.float64), *settings)
        self._dot.set_data([ratio], [y])
        self._at.set_data([ratio], [slope])
        short = [short_number(each, 3) for each in (ratio, advantage, y, slope)]
        self._says.set_text(f"at {short[0]}: gradient {short[3]}")
        said = "p / p_old {}, advantage {}: objective {}, gradient {}".format(*short)
        if not slope:
            return f"{said}: the clip stops it" if advantage else said
        return said if low <= ratio <= high else f"{said}, though it is outside of the bounds"

    def _shade(self, side, flat):
        start, width = (flat[0] - STEP / 2, flat[-1] - flat[0] + STEP) if len(flat) else (0, 0)
        for area in self._flat[side]:
            area.set_bounds(start, -REACH, width, 2 * REACH)


def _measured(ratios, advantage, low, high, minimum):
    """The objective at each ratio, and its gradient for the logarithm of the probability."""
    ratio = ratios.clone().requires_grad_()
    value = ratio.clamp(low, high) * advantage
    if minimum:
        value = torch.minimum(ratio * advantage, value)
    (gradient,) = torch.autograd.grad(value.sum(), ratio)
    return value.detach(), ratios * gradient  # exp(log(ratio)) might lie beyond a bound
