"""Marks at the frame of an axes where values are infinite or NaN, which no line can show."""

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import torch
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from autograd_surprises.show.colours import INK
from helpers.curves.regions import not_finite

MOST_WORDS, MOST_TRIED = 4, 8  # so that many marks cost little
NARROWEST = 0.03  # of the axes: a single point has to be seen, too
THICKNESS = 5  # of a mark, in points
WORD_WIDTHS, WORD_HEIGHT = {"inf": 13, "-inf": 17, "NaN": 21}, 12  # with the box, in points
WORD_STYLE = {
    "size": 9, "color": INK, "ha": "center", "va": "center", "visible": False,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},
}  # fmt: skip


class FrameMarks:
    """A bar at the top of the frame where values are inf, at the bottom for -inf, stripes for NaN.

    A label names each mark, clear of the lines. `artists` are drawn after the lines.

    >>> from autograd_surprises.show.picture import Picture
    >>> ax = Picture(4, 3).subplots(); (line,) = ax.plot([0, 1], [0, 1])
    >>> marks = FrameMarks(ax, INK)
    >>> marks.show(torch.tensor([0.0, 1.0]), torch.tensor([0.0, torch.inf]), [line])
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
        self._runs, self._lines = [], []
        for change in ("xlim_changed", "ylim_changed"):  # or words would stay behind their marks
            ax.callbacks.connect(change, self._place_words)

    @property
    def artists(self) -> list[Artist]:
        return [self.bars, self.stripes, *self.words]

    def show(self, x: torch.Tensor, values: torch.Tensor, lines: Sequence[Line2D]):
        """Mark these values. Labels are placed clear of the lines where possible."""
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
        self._runs, self._lines = runs, lines
        self._place_words(self._ax)

    def _place_words(self, ax):
        words = self._placed(self._runs, self._lines) if self._runs else []
        for text, (word, *middle) in zip_longest(self.words, words, fillvalue=("", 0, 0)):
            text.set_text(word)
            text.set_position(middle)
            text.set_visible(bool(word))

    def _placed(self, runs, lines):
        """[(word, x, y)] in parts of the axes, for the widest runs that have room for a word."""
        size = self._ax.bbox.size / self._ax.figure.dpi * 72
        to_axes = self._ax.transLimits.transform
        strokes = np.concatenate([_strokes(to_axes(line.get_xydata())) for line in lines])
        words, taken = [], np.empty((0, 4))
        for is_first, (word, *ends) in _by_width(runs)[:MOST_TRIED]:
            half = np.array([WORD_WIDTHS[word], WORD_HEIGHT]) / size / 2
            near = half[1] + (THICKNESS + 1) / size[1]
            places = [
                (x, 1 - away if word == "inf" else away)
                for away in (near, near + 2 * half[1])
                for x in _middles(*to_axes([(end, 0) for end in ends])[:, 0], half[0])
            ]
            boxes = np.concatenate([places - half, places + half], axis=1)
            hits = np.where(_overlaps(taken, boxes), np.inf, _overlaps(strokes, boxes))
            best = hits.argmin()
            if len(words) < MOST_WORDS and hits[best] < (np.inf if is_first else 1):
                words.append((word, *places[best]))
                taken = np.concatenate([taken, boxes[[best]]])
        return words


def _by_width(runs):
    """[(is it the first of its kind, run)], the first of each kind first."""
    widest = sorted(runs, key=lambda run: run[1] - run[2])
    firsts = {run[0]: run for run in reversed(widest)}.values()
    return [(True, run) for run in firsts] + [(False, run) for run in widest if run not in firsts]


def _at_least(width, start, stop):
    """An interval, made this wide if it is narrower."""
    more = max(0, width - (stop - start)) / 2
    return start - more, stop + more


def _middles(start, stop, half):
    """Where the middle of a word may be: above or below its mark, or beside a narrow one."""
    middle, reach = (start + stop) / 2, (stop - start) / 2
    reach = reach - half if reach > half else reach + half + 0.01
    return np.clip([middle + part * reach for part in (0, 0.5, -0.5, 1, -1)], half, 1 - half)


def _strokes(points):
    """The box around each stroke of a line: left, bottom, right, top."""
    low, high = np.minimum(points[:-1], points[1:]), np.maximum(points[:-1], points[1:])
    return np.concatenate([low, high], axis=1)


def _overlaps(others, boxes):
    """For each box, how many of the others does it overlap?"""
    left, bottom, right, top = others.T
    box_left, box_bottom, box_right, box_top = boxes.T[:, :, None]
    across = (left <= box_right) & (right >= box_left)
    return (across & (bottom <= box_top) & (top >= box_bottom)).sum(1)
