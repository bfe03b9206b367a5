"""What artists of matplotlib show, as text that can be compared."""

import re

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver
from matplotlib.text import Text

from autograd_surprises.show.colours import GREEN, RED

FAR = 1e6  # beyond, beside a pole, one rounding error makes another number
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?|nan")


def shape(part):
    """One artist in words: of many points or cells the first, the middle and the last."""
    if isinstance(part, Text):
        words = " ".join(part.get_text().split())
        name = {GREEN: "green ", RED: "red "}.get(part.get_color(), "") + words
        name += f" {part.get_ha()} {part.get_va()}" if words else ""
        numbers = part.get_position() if words else ()
    elif isinstance(part, Line2D):
        name = f"line {part.get_linestyle()} {part.get_marker()}"
        points = part.get_xydata().tolist()
        middle = len(points) // 2
        numbers = sum(points if len(points) < 10 else points[:: middle or 1], [])
    elif isinstance(part, AxesImage):
        name, cells = "cells", part.get_array().ravel().tolist()
        numbers = cells[:: max(1, len(cells) // 12)]
    elif isinstance(part, Quiver):
        arrows = np.column_stack([part.XY, part.U, part.V]).tolist()
        name, numbers = "arrows", sum(arrows[:: max(1, len(arrows) // 6)], [])
    elif isinstance(part, PolyCollection):
        areas = [path.get_extents() for path in part.get_paths()]
        name, numbers = "area", [end for area in areas for end in (area.x0, area.x1)]
    else:
        name = "circle" if isinstance(part, Circle) else "box"
        numbers = [part.get_radius()] if isinstance(part, Circle) else part.get_bbox().bounds
    return " ".join([name, *(f"{number:.3g}" for number in numbers)]) if numbers else name


def shapes(drawing):
    """What moves in a drawing or a curve, and the range that the axes of a drawing have to show."""
    ranges = getattr(drawing, "ranges", {}).items()
    said = [f"{name} from {low:.3g} to {high:.3g}" for name, (low, high) in ranges]
    return "; ".join([*said, *(shape(part) for part in drawing.moving if part.get_visible())])


def compare(found, wanted):
    """The same words, and the same numbers but for what rounding makes of them."""
    assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted)
    one, other = (
        [min(max(float(number), -FAR), FAR) for number in NUMBER.findall(text)]
        for text in (found, wanted)
    )
    assert one == pytest.approx(other, rel=0.01, abs=1e-6, nan_ok=True), found
