"""Marks at the frame of an axes where values are infinite or NaN, which no line can show."""

import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.transforms import offset_copy

from autograd_surprises.show.colours import INK
from helpers.curves.regions import not_finite

NARROWEST = 0.03  # of the axes: a single point has to be seen, too
THICKNESS = 5  # of a mark, in points
# Of a word, at the top (1) or the bottom (0), and so many points above it: NaN above -inf.
PLACES = {"inf": (1, -12), "-inf": (0, 12), "NaN": (0, 24)}
ON_WHITE = {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5}}  # words on lines
WORD_STYLE = {"size": 9, "color": INK, "va": "center", "visible": False, **ON_WHITE}


class FrameMarks:
    """A bar at the top of the frame where values are inf, at the bottom for -inf, stripes for NaN.

    A label names the widest mark of each kind. `artists` are drawn after the lines.

    >>> from autograd_surprises.show.picture import Picture
    >>> marks = FrameMarks(Picture(4, 3).subplots(), INK)
    >>> marks.show(torch.tensor([0.0, 1.0]), torch.tensor([0.0, torch.inf]))
    """

    def __init__(self, ax: Axes, colour: str):
        frame = ax.get_xaxis_transform()  # x of the data, y from bottom to top
        # on the frame, so that the outer half is clipped
        style = {"color": colour, "lw": 2 * THICKNESS, "transform": frame, "visible": False}
        (self.bars,) = ax.plot([], [], solid_capstyle="butt", **style)
        (self.stripes,) = ax.plot([], [], ls=(0, (0.25, 0.2)), **style)
        self.words = {
            word: ax.text(
                0, y, word, transform=offset_copy(frame, ax.figure, 0, up, "points"), **WORD_STYLE
            )
            for word, (y, up) in PLACES.items()
        }

    @property
    def artists(self) -> list[Artist]:
        return [self.bars, self.stripes, *self.words.values()]

    def show(self, x: torch.Tensor, values: torch.Tensor):
        """Mark these values. x goes from one end of the axes to the other."""
        runs = not_finite(x, values)
        if not runs and not (self.bars.get_visible() or self.stripes.get_visible()):
            return
        left, width = x[0].item(), (x[-1] - x[0]).item()
        for line, kinds in ((self.bars, ("inf", "-inf")), (self.stripes, ("NaN",))):
            marks = [
                (*_at_least(NARROWEST * width, a, b), PLACES[word][0])
                for word, a, b in runs
                if word in kinds
            ]
            line.set_data(
                [place for a, b, _ in marks for place in (a, b, torch.nan)],
                [place for *_, y in marks for place in (y, y, torch.nan)],
            )
            line.set_visible(bool(marks))
        widest = {word: ends for word, *ends in sorted(runs, key=lambda run: run[2] - run[1])}
        for word, text in self.words.items():
            text.set_visible(word in widest)
            if word in widest:
                middle = sum(widest[word]) / 2
                share = (middle - left) / width
                text.set_x(middle)
                text.set_ha("left" if share < 0.1 else "right" if share > 0.9 else "center")


def _at_least(width, start, stop):
    """An interval, made this wide if it is narrower."""
    more = max(0, width - (stop - start)) / 2
    return start - more, stop + more
