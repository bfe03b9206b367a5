"""What clipping does to a gradient: by its norm, and by the value of each element."""

import math
from functools import partial

import torch
from matplotlib.patches import Circle, Rectangle
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from helpers.curves.axes import draw_handle
from lessons.drawings.arrow import angle_between
from lessons.drawings.panel import PanelDrawing

REACH = 5.5
CLIPS = {"norm": clip_grad_norm_, "value": clip_grad_value_}


class ClippingDrawing(PanelDrawing):
    """A gradient to drag, and what torch's clip_grad_norm_ or clip_grad_value_ makes of it.

    >>> ClippingDrawing().show(g1=3.0, g2=4.0, by="norm", limit=1.0)
    '(3, 4) becomes (0.6, 0.8): the length goes from 5 to 1, the direction stays'
    """

    name = "Clipping a gradient"
    handles = ({"axes": 0, "names": ["g1", "g2"]},)

    def __init__(self):
        (ax,) = self.panels(5.4, 4.6, "")
        ax.set(xlabel="first element", ylabel="second element", aspect=1)
        ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH))
        edge = {"fill": False, "ec": VALUE_COLOUR, "lw": 1.5}
        self._circle = self.add(ax.add_patch(Circle((0, 0), 1, **edge)))
        self._square = self.add(ax.add_patch(Rectangle((-1, -1), 2, 2, **edge)))
        self._before = self.arrow(ax, SLOPE_COLOUR, dashed=True)
        self._after = self.arrow(ax, GRADIENT_COLOUR)
        self._dot = self.add(draw_handle(ax))
        self._says = self.words(ax, 0, 0.9 * -REACH)
        arrows = {"gradient": self._before.line, "clipped gradient": self._after.line}
        self.legend({**arrows, "limit": self._circle})

    def show(self, g1=3.0, g2=0.5, by="norm", limit=1.0):
        weight = torch.zeros(2, requires_grad=True)
        before = torch.tensor([float(g1), float(g2)])
        weight.grad = before.clone()
        CLIPS[by](weight, limit)
        self._draw(before, weight.grad, by, limit)
        pair, clipped = ("({}, {})".format(*map(_short, each)) for each in (before, weight.grad))
        angle = angle_between(before, weight.grad)
        self._says.set_text(f"turned by {angle:.0f}°" if angle >= 0.5 else "")
        if torch.allclose(before, weight.grad):  # torch adds a little to the length
            return f"{pair} is inside the limit and stays"
        lengths = f"from {_short(before.norm())} to {_short(weight.grad.norm())}"
        turn = "the direction stays" if angle < 1e-3 else f"the direction turns by {angle:.0f}°"
        return f"{pair} becomes {clipped}: the length goes {lengths}, {turn}"

    def _draw(self, before, after, by, limit):
        self._before.point_to(before.tolist())
        self._after.point_to(after.tolist())
        self._dot.set_data(*before[:, None].tolist())
        self._circle.set_radius(limit if by == "norm" else math.nan)
        side = limit if by == "value" else math.nan
        self._square.set_bounds(-side, -side, 2 * side, 2 * side)


_short = partial(short_number, decimals=2)
