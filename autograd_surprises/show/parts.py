"""The parts of a figure that stay whole where a narrow page shows them one below the other."""

import itertools
from collections.abc import Iterator

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from autograd_surprises.show.stroke_recorder import CSS_DPI, unhinted

MARGIN = 4  # pixels of the page between two parts


def parts_of(figure: Figure) -> list[list[list[float]]]:
    """The words of the title, the columns of panels, and the entries of the legend.

    Each part is [x, y, width, height] in pixels of the page, with y from the top. Panels that share
    some x are one column. A column without labels on its left has three numbers more: x, width and
    height of those of the first one. Call it when the figure has been drawn: before, a legend has
    no place.

    >>> from autograd_surprises.show.picture import Picture
    >>> figure = Picture(8, 3); axes = figure.subplots(1, 2)
    >>> [len(group) for group in parts_of(figure)]
    [2]
    """
    with unhinted():
        columns = _columns(figure)
        boxes = [Bbox.union([ax.get_tightbbox() for ax in column]) for column in columns]
        apart = lambda box: not any(box.overlaps(other) for other in boxes)  # noqa: E731
        words = filter(apart, itertools.chain(*map(_words, _titles(figure))))
        legends = [each for each in figure.legends if apart(each.get_window_extent())]
        entries = itertools.chain(*map(_entries, legends))
    panels = [_on_page(box, figure) for box in boxes]
    for column, panel in zip(columns[1:], panels[1:], strict=True):
        if not any(ax.yaxis.get_tick_params().get("labelleft", True) for ax in column):
            panel += _labels(columns[0], panels[0], figure)
    groups = [[_on_page(box, figure) for box in some] for some in (words, entries)]
    return [group for group in (groups[0], panels, groups[1]) if group]


def _labels(column, panel, figure):
    """x, width and height of what stands left of a column: without its ticks, and what is below."""
    left, top, *_ = panel
    scale, tick = CSS_DPI / figure.dpi, rcParams["ytick.major.size"] * CSS_DPI / 72
    edge = min(ax.bbox.x0 for ax in column) * scale - tick - 1
    bottom = (figure.bbox.height - min(ax.bbox.y0 for ax in column)) * scale + MARGIN
    return [left, round(float(edge - left), 1), round(float(bottom - top), 1)]


def _titles(figure):
    """The title of the whole figure, if it has one; `texts` does not hold it before it is drawn."""
    title = getattr(figure, "_suptitle", None)
    texts = [title] if title is not None and title.get_text() else []
    return texts + [text for text in figure.texts if text is not title and text.get_text()]


def _words(text: Text) -> Iterator[Bbox]:
    """A box for each word of a horizontal text whose lines are centred."""
    renderer, font = text.figure.canvas.get_renderer(), text.get_fontproperties()
    width_of = lambda some: renderer.get_text_width_height_descent(some, font, False)[0]  # noqa: E731
    whole, lines = text.get_window_extent(), text.get_text().split("\n")
    for k, line in enumerate(lines):
        left = (whole.x0 + whole.x1 - width_of(line)) / 2
        top = whole.y1 - k * whole.height / len(lines)
        end = 0
        for word in line.split():
            start = line.index(word, end)
            end = start + len(word)
            across = left + width_of(line[:start]), left + width_of(line[:end])
            yield Bbox([[across[0], top - whole.height / len(lines)], [across[1], top]])


def _columns(figure) -> list[list[Axes]]:
    """The panels from left to right, in one column if they share some x."""
    panels = [ax for ax in figure.axes if ax.get_visible()]
    columns: list[list[Axes]] = []
    for ax in sorted(panels, key=lambda ax: ax.bbox.x0):
        if columns and ax.bbox.x0 < max(other.bbox.x1 for other in columns[-1]):
            columns[-1].append(ax)
        else:
            columns.append([ax])
    return columns


def _entries(legend: Legend) -> Iterator[Bbox]:
    """A box for each name with its line or mark."""
    for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
        yield Bbox.union([text.get_window_extent(), handle.get_window_extent()])


def _on_page(box, figure):
    scale, (width, height) = CSS_DPI / figure.dpi, figure.bbox.size
    left, right = (max(0.0, min(width, x)) * scale for x in (box.x0, box.x1))
    top, bottom = ((height - max(0.0, min(height, y))) * scale for y in (box.y1, box.y0))
    left, top = max(0.0, left - MARGIN), max(0.0, top - MARGIN)
    right, bottom = min(width * scale, right + MARGIN), min(height * scale, bottom + MARGIN)
    return [round(float(each), 1) for each in (left, top, right - left, bottom - top)]
