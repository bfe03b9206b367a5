"""Marks at the frame of an axes where values are infinite or NaN, which no line can show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product, zip_longest
from operator import itemgetter

import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from autograd_surprises.show.colours import INK
from helpers.curves.regions import not_finite

MOST_WORDS = 4
NARROWEST = 0.03  # of the axes: a single point has to be seen, too
THICKNESS = 5  # of a mark, in points
WORD_WIDTH, WORD_HEIGHT = 22, 12  # of the longest word with its box, in points
WORD_STYLE = {
    "size": 9, "color": INK, "ha": "center", "va": "center", "visible": False,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},
}  # fmt: skip


class FrameMarks:
    """A bar at the top of the frame where values are inf, at the bottom for -inf, stripes for NaN.

    Beside a mark stands its word, where no line is. `artists` are drawn after the lines.
    """

    def __init__(self, ax: Axes, colour: str):
        self._ax = ax
        # on the frame, so that the outer half is clipped
        style = {"color": colour, "lw": 2 * THICKNESS, "transform": ax.get_xaxis_transform()}
        (self.bars,) = ax.plot([], [], solid_capstyle="butt", visible=False, **style)
        (self.stripes,) = ax.plot([], [], ls=(0, (0.25, 0.2)), visible=False, **style)
        self.words = [
            ax.text(0, 0, "", transform=ax.transAxes, **WORD_STYLE) for _ in range(MOST_WORDS)
        ]

    @property
    def artists(self) -> list[Artist]:
        return [self.bars, self.stripes, *self.words]

    def show(self, x: torch.Tensor, values: torch.Tensor, lines: Sequence[Line2D]):
        """Mark these values. The words keep away from the lines if they can."""
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
        words = self._placed(runs, lines) if runs else []
        for text, (word, *middle) in zip_longest(self.words, words, fillvalue=("", 0, 0)):
            text.set(text=word, position=middle, visible=bool(word))

    def _placed(self, runs, lines):
        """[(word, x, y)] in parts of the axes, for the widest runs that have room for a word."""
        width, height = self._ax.bbox.size / self._ax.figure.dpi * 72
        wide, high = WORD_WIDTH / width, WORD_HEIGHT / height
        from_frame = high / 2 + (THICKNESS + 1) / height
        to_axes = self._ax.transLimits.transform
        strokes = torch.cat([_strokes(to_axes(line.get_xydata())) for line in lines])
        words, taken = [], strokes[:0]
        for word, *ends in sorted(runs, key=lambda run: run[1] - run[2]):
            if len(words) == MOST_WORDS:
                break
            found = []
            xs = _middles(*to_axes([(end, 0) for end in ends])[:, 0], wide)
            for away, x in product((from_frame, from_frame + high), xs):
                x = min(max(x, wide / 2), 1 - wide / 2)
                y = 1 - away if word == "inf" else away
                box = torch.tensor([x - wide / 2, y - high / 2, x + wide / 2, y + high / 2])
                if not _overlaps(taken, box):
                    found.append((_overlaps(strokes, box), x, y, box))
            is_first = word not in [word for word, *_ in words]
            hits, *middle, box = min(found, key=itemgetter(0), default=(torch.inf, None))
            if hits == 0 or (found and is_first):
                words.append((word, *middle))
                taken = torch.cat([taken, box[None]])
        return words


def _at_least(width, start, stop):
    """An interval, made this wide if it is narrower."""
    more = max(0, width - (stop - start)) / 2
    return start - more, stop + more


def _middles(start, stop, wide):
    """Where the middle of a word may be: below its mark, or beside a narrow one."""
    middle = (start + stop) / 2
    reach = (stop - start - wide) / 2 if stop - start > wide else (stop - start + wide) / 2 + 0.01
    return [middle + part * reach for part in (0, 0.5, -0.5, 1, -1)]


def _strokes(points):
    """The box around each stroke of a line: left, bottom, right, top."""
    points = torch.as_tensor(points)
    return torch.cat([points[:-1].minimum(points[1:]), points[:-1].maximum(points[1:])], dim=1)


def _overlaps(boxes, box):
    """How many of the boxes overlap this one?"""
    return ((boxes[:, :2] <= box[2:]) & (boxes[:, 2:] >= box[:2])).all(dim=1).sum().item()
