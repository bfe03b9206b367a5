"""What the axes of all figures have in common: a light grid, and limits that hold the numbers."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from matplotlib.axes import Axes


def draw_light_grid(*axes: Axes, along: str = "both"):
    """Draw a light grid behind everything else in these axes; `along` is "x", "y" or "both".

    >>> from autograd_surprises.show.picture import Picture
    >>> draw_light_grid(Picture(4, 3).subplots(), along="y")
    """
    for ax in axes:
        ax.grid(color="#dddddd", lw=0.6, axis=along)
        ax.set_axisbelow(True)


def limits_around_zero(values: torch.Tensor) -> tuple[float, float]:
    """Limits of an axis that hold these numbers, with 0 in the middle.

    >>> limits_around_zero(torch.tensor([1.0, -2.0]))
    (-2.2, 2.2)
    """
    reach = 1.1 * values.abs().max().item() or 1.0
    return -reach, reach


def axis_limits(values: Iterable[torch.Tensor]) -> tuple[float, float]:
    """Limits of an axis that hold these numbers; a pole does not flatten the others.

    >>> axis_limits([torch.tensor([0.0, 1.0])])
    (-0.08, 1.08)
    """
    values = torch.cat([*values, torch.empty(0)])
    if not len(values):
        return -1, 1
    low, high = values.min().item(), values.max().item()
    middle = values.quantile(torch.tensor([0.03, 0.97], dtype=values.dtype)).tolist()
    if max(-low, high) > 50 and middle[1] - middle[0] < (high - low) / 20:
        low, high = middle  # only a pole reaches further
    margin = 0.08 * (high - low) or 1.0
    return low - margin, high + margin
