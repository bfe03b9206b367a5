"""Which part of a gradient survives in 16 bits, at which scale of the loss."""

import torch

from autograd_surprises.show.colours import GRADIENT_COLOUR, SLOPE_COLOUR
from lessons.drawings.panel import PanelDrawing, set_each

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
            for alpha in (0.28, 0.12, 0.28)
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
