"""What clipping does to a gradient, and which part of it survives in 16 bits."""

import math
from functools import partial

import torch
from matplotlib.patches import Circle, Rectangle
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from autograd_surprises.numerics import short_number
from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR, VALUE_COLOUR
from helpers.curves.axes import draw_handle
from lessons.drawings.arrow import angle_between
from lessons.drawings.panel import PanelDrawing, set_each

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


DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}
LOWEST, HIGHEST = -48, 28  # powers of two between which there are bins


def _percent(which: torch.Tensor) -> str:
    """0 % and 100 % mean none and all of them."""
    rounded = round(100 * which.double().mean().item())
    if rounded == 0 and which.any():
        return "under 1 %"
    return "over 99 %" if rounded == 100 and not which.all() else f"{rounded} %"


class HalfPrecisionDrawing(PanelDrawing):
    """A histogram of the sizes of a gradient times 2**power, over what a dtype of 16 bits can hold.

    gradient  any tensor; its zeros are left out. ValueError if nothing is left

    >>> gradient = torch.tensor([2.0**-30, 2.0**-20, 2.0**-10, 1.0])
    >>> HalfPrecisionDrawing(gradient).show(dtype="float16", power=0)
    'of 4 numbers, 25 % become 0, 25 % lose digits, 50 % survive, 0 % become inf'
    """

    name = "What survives in 16 bits"

    def __init__(self, gradient: torch.Tensor):
        sizes = gradient.detach().abs().flatten().double()
        self._sizes = sizes[sizes > 0]
        if not len(self._sizes):
            raise ValueError(f"all {len(sizes)} numbers of this gradient are 0: nothing to draw")
        bins = torch.histc(self._sizes.log2(), HIGHEST - LOWEST, LOWEST, HIGHEST)
        shares = (100 * bins / len(self._sizes)).tolist()
        top = 1.3 * max(shares)
        (ax,) = self.panels(8, 3.6, "", grid="y")
        ax.set(xlabel="size of the gradient times the scale", ylabel="share of the elements")
        powers = range(LOWEST, HIGHEST + 1, 8)
        ax.set_xticks(powers, [f"$2^{{{k}}}$" for k in powers])
        ax.yaxis.set_major_formatter("{x:.0f} %")
        self._zones = [
            self.add(ax.axvspan(0, 1, alpha=alpha, color=SLOPE_COLOUR, lw=0))
            for alpha in (0.2, 0.12, 0.2)
        ]
        self._bars = self.bars(ax, range(LOWEST, HIGHEST), 0.9, color=GRADIENT_COLOUR)
        set_each(self._bars, height=shares)
        names = ("becomes 0", "loses digits", "becomes inf")
        self._names = [self.words(ax, 0, 0.97 * top, name, va="top") for name in names]
        ax.set(xlim=(LOWEST, HIGHEST), ylim=(0, top))

    def show(self, dtype="float16", power=0):
        kind = DTYPES[dtype]
        set_each(self._bars, x=[k + power + 0.05 for k in range(LOWEST, HIGHEST)])
        self._show_limits(kind)
        scaled = self._sizes * 2.0**power
        kept = scaled.to(kind)
        zero, infinite = kept == 0, kept.isinf()
        coarse = ~zero & (scaled < torch.finfo(kind).smallest_normal)
        survive = ~(zero | infinite | coarse)
        zeros, digits, good, inf = map(_percent, (zero, coarse, survive, infinite))
        return (
            f"of {len(scaled):,} numbers, {zeros} become 0, {digits} lose digits, {good} survive, "
            f"{inf} become inf"
        )

    def _show_limits(self, kind):
        """Shade what this dtype cannot hold, or not with all its digits."""
        limits = torch.finfo(kind)
        # half of the smallest number is rounded to 0
        smallest = torch.tensor(limits.smallest_normal * limits.eps / 2).log2().item()
        normal = torch.tensor(limits.smallest_normal).log2().item()
        largest = torch.tensor(limits.max).double().log2().item()
        zones = ((LOWEST, smallest), (smallest, normal), (largest, HIGHEST))
        for zone, name, ends in zip(self._zones, self._names, zones, strict=True):
            low, high = (min(max(end, LOWEST), HIGHEST) for end in ends)
            zone.set_bounds(low, 0, high - low, 1)
            name.set_x((low + high) / 2)
            name.set_visible(high - low > 7)
