"""Marks at the frame of an axes where values are infinite or NaN, which no line can show."""

from itertools import zip_longest

import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from autograd_surprises.show.colours import INK
from helpers.curves.regions import not_finite

NARROWEST = 0.03  # of the axes: a single point has to be seen, too
THICKNESS = 5  # of a mark, in points
WORD_WIDTHS, WORD_HEIGHT = {"inf": 13, "-inf": 17, "NaN": 21}, 12  # with the box, in points
WORD_STYLE = {
    "size": 9, "color": INK, "ha": "center", "va": "center", "visible": False,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},
}  # fmt: skip


class FrameMarks:
    """A bar at the top of the frame where values are inf, at the bottom for -inf, stripes for NaN.

    A label names the widest mark of each kind. `artists` are drawn after the lines.

    >>> from autograd_surprises.show.picture import Picture
    >>> marks = FrameMarks(Picture(4, 3).subplots(), INK)
    >>> marks.show(torch.tensor([0.0, 1.0]), torch.tensor([0.0, torch.inf]))
    """

    def __init__(self, ax: Axes, colour: str):
        self._ax = ax
        # on the frame, so that the outer half is clipped
        style = {"color": colour, "lw": 2 * THICKNESS, "transform": ax.get_xaxis_transform()}
        (self.bars,) = ax.plot([], [], solid_capstyle="butt", visible=False, **style)
        (self.stripes,) = ax.plot([], [], ls=(0, (0.25, 0.2)), visible=False, **style)
        self.words = [ax.text(0, 0, "", transform=ax.transAxes, **WORD_STYLE) for _ in WORD_WIDTHS]
        self._runs = []
        for change in ("xlim_changed", "ylim_changed"):  # or words would stay behind their marks
            ax.callbacks.connect(change, self._place_words)

    @property
    def artists(self) -> list[Artist]:
        return [self.bars, self.stripes, *self.words]

    def show(self, x: torch.Tensor, values: torch.Tensor):
        """Mark these values."""
        runs = not_finite(x, values)
        if not runs and not (self.bars.get_visible() or self.stripes.get_visible()):
            return
        narrowest = NARROWEST * (x[-1] - x[0]).item()
        for line, kinds in ((self.bars, ("inf", "-inf")), (self.stripes, ("NaN",))):
            marks = [
                (*_at_least(narrowest, a, b), word == "inf") for word, a, b in runs if word in kinds
            ]
            line.set_data(
                [place for a, b, _ in marks for place in (a, b, torch.nan)],
                [place for *_, at_top in marks for place in (at_top, at_top, torch.nan)],
            )
            line.set_visible(bool(marks))
        self._runs = runs
        self._place_words(self._ax)

    def _place_words(self, ax):
        """A word beside the widest mark of each kind: NaN above -inf, its neighbour at times."""
        size = ax.bbox.size / ax.figure.dpi * 72
        near, row = (THICKNESS + 1 + WORD_HEIGHT / 2) / size[1], WORD_HEIGHT / size[1]
        heights = {"inf": 1 - near, "-inf": near, "NaN": near + row}
        widest = {run[0]: run for run in sorted(self._runs, key=lambda run: run[2] - run[1])}
        for text, (word, *ends) in zip_longest(self.words, widest.values(), fillvalue=("", 0, 0)):
            half = WORD_WIDTHS.get(word, 0) / size[0] / 2
            middle = ax.transLimits.transform((sum(ends) / 2, 0))[0]
            text.set_text(word)
            text.set_position((np.clip(middle, half, 1 - half), heights.get(word, 0)))
            text.set_visible(bool(word))


def _at_least(width, start, stop):
    """An interval, made this wide if it is narrower."""
    more = max(0, width - (stop - start)) / 2
    return start - more, stop + more
