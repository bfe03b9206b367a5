"""What axes have in common: looks of lines and areas, a light grid, limits."""

from collections.abc import Iterable, Mapping

import torch
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D

from autograd_surprises.show.colours import GRID_GREY, LINE_GREY, SLOPE_COLOUR

Range = tuple[float, float]
DASHED = (0, (4, 3))
CONTOURS = {"colors": LINE_GREY, "linewidths": 0.7}
FARTHEST = 1e307  # matplotlib computes with limits, and the largest float is 1.8e308
# From vermilion for negative numbers to blue, light enough for the numbers to stand on them.
SHADES = LinearSegmentedColormap.from_list("signs", ["#EFA679", "white", "#8CC3E3"])


def shading(colour: str) -> dict:
    """The look of an area in which numbers differ: seen without colour, too.

    >>> shading("black")["hatch"]
    '///'
    """
    return {"facecolor": colour, "alpha": 0.18, "edgecolor": colour, "hatch": "///", "lw": 0}


def draw_handle(ax: Axes) -> Line2D:
    """A large dot that a reader can drag, at no place yet.

    >>> from autograd_surprises.show.picture import Picture
    >>> draw_handle(Picture(4, 3).subplots()).get_gid()
    'handle'
    """
    (dot,) = ax.plot([], [], "o", color=SLOPE_COLOUR, mec="white", ms=12, gid="handle")
    return dot


def draw_light_grid(*axes: Axes, along: str = "both"):
    """Draw a light grid behind everything else in these axes; `along` is "x", "y" or "both".

    >>> from autograd_surprises.show.picture import Picture
    >>> draw_light_grid(Picture(4, 3).subplots(), along="y")
    """
    for ax in axes:
        ax.grid(color=GRID_GREY, lw=0.6, axis=along)
        ax.set_axisbelow(True)


def usual_range(values: torch.Tensor) -> Range | None:
    """The lowest and the highest of these numbers, without those that only a pole reaches.

    None if there are no numbers.

    >>> usual_range(torch.tensor([0.0, 1.0]))
    (0.0, 1.0)
    """
    if not len(values):
        return None
    low, high = values.min().item(), values.max().item()
    if max(-low, high) > 50:
        middle = values.quantile(torch.tensor([0.03, 0.97], dtype=values.dtype)).tolist()
        if middle[1] - middle[0] < (high - low) / 20:
            return tuple(middle)
    return low, high


def union(several: Iterable[Mapping[str, Range]]) -> dict[str, Range]:
    """For each name, the range that holds all ranges of this name.

    >>> union([{"value": (0, 1)}, {"value": (-1, 0), "slope": (2, 2)}])
    {'value': (-1, 1), 'slope': (2, 2)}
    """
    whole = {}
    for ranges in several:
        for name, (low, high) in ranges.items():
            lowest, highest = whole.get(name, (low, high))
            whole[name] = min(low, lowest), max(high, highest)
    return whole


def reach_beyond(kept: Mapping[str, Range], needed: Mapping[str, Range]) -> float:
    """How far the needed ranges lie outside those kept: the largest share of a kept range's length.

    Outside of a range that has no length yet, or is not kept yet, that is 1.

    >>> reach_beyond({"value": (0.0, 2.0)}, {"value": (-0.5, 2.0)})
    0.25
    """
    return max((_outside(kept.get(name), needed[name]) for name in needed), default=0.0)


def _outside(kept, needed):
    if kept is None:
        return 1.0
    beyond, length = max(kept[0] - needed[0], needed[1] - kept[1], 0.0), kept[1] - kept[0]
    return beyond / length if length else float(beyond > 0)


def limits_with_margin(range_: Range | None) -> Range:
    """Limits of an axis that hold this range.

    >>> limits_with_margin((0.0, 1.0))
    (-0.08, 1.08)
    """
    if range_ is None:
        return -1, 1
    low, high = (min(FARTHEST, max(-FARTHEST, end)) for end in range_)
    margin = 0.08 * (high - low) or 1.0
    return low - margin, high + margin


def limits_around_zero(range_: Range) -> Range:
    """Limits of an axis that hold this range, with 0 in the middle.

    >>> limits_around_zero((-2.0, 1.0))
    (-2.2, 2.2)
    """
    reach = 1.1 * min(FARTHEST, max(map(abs, range_))) or 1.0
    return -reach, reach
