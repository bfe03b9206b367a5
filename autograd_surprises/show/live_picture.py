"""A figure on the page, replayed from strokes: sharp, in the page's colours, quick to move.

Beside it stands a stored picture, for pages that cannot run anywidget.
"""

import html
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anywidget
import ipywidgets
import traitlets
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, ScalarFormatter

from autograd_surprises.show.findings import with_code
from autograd_surprises.show.parts import parts_of
from autograd_surprises.show.stroke_recorder import CSS_DPI, StrokeRecorder, unhinted

# Decided by what the page shows beside it, so nothing flashes while a live picture loads. In the
# dark theme, the picture is turned into its negative with the same hues.
STYLE = """<style>
:not(:has(> .jupyter-widgets-error-widget)) + .stored-picture,
:has(> .jupyter-widgets-error-widget):has(+ .stored-picture) { display: none }
[data-jp-theme-light=false] .stored-picture img { filter: invert(0.93) hue-rotate(180deg) }
</style>"""
LINE = with_code(
    "This page cannot run anywidget, so it shows a stored picture, which does not move. "
    "Run `pip install anywidget` where JupyterLab is installed, then reload the page."
)
ROOM = 500  # for styles that later moves need; an artist with free colours needs one a move


class LivePicture(anywidget.AnyWidget):
    """A figure on the page; `refresh` sends what it shows now, and its `summary`.

    moving   the artists that move, in the order in which they are drawn, on top of the others
    dragged  where a reader drags a handle to: {name: value}
    changed  whether something that does not move has changed since `refresh`
    stored   what a page shows in its place if it cannot run anywidget; goes behind it in a box

    Recording a whole figure takes about ten times as long as recording its curves. So everything
    that does not move, the frame, is recorded once and kept until something in it changes.

    >>> from autograd_surprises.show.picture import Picture
    >>> figure = Picture(8, 3); (curve,) = figure.subplots().plot([0, 1], [0, 1])
    >>> picture = LivePicture(figure, [curve]); picture.refresh()
    >>> curve.set_ydata([1, 0]); picture.refresh()  # records the curve, not the axes
    """

    _esm = Path(__file__).with_name("strokes.js").read_text(encoding="utf-8")
    size = traitlets.List().tag(sync=True)
    styles = traitlets.List().tag(sync=True)
    glyphs = traitlets.List().tag(sync=True)
    axes = traitlets.List().tag(sync=True)
    parts = traitlets.List().tag(sync=True)
    handles = traitlets.List().tag(sync=True)
    words = traitlets.List().tag(sync=True)
    summary = traitlets.Unicode().tag(sync=True)
    frame = traitlets.Bytes().tag(sync=True)
    moving = traitlets.Bytes().tag(sync=True)
    dragged = traitlets.Dict()  # a message: the page sets no trait while another thread refreshes

    def __init__(self, figure: Figure, moving: Sequence[Artist] = ()):
        # strokes.js asks for it, too, but here a layout has the last word
        super().__init__(layout={"overflow": "auto"})
        self.on_msg(self._hear)
        self._figure, self._artists = figure, list(moving)
        self.stored = StoredPicture()
        self._keeps_styles = False
        self._start_tables()
        self._layout = figure.get_layout_engine()
        if self._layout:
            self.lay_out()
            figure.set_layout_engine("none")
        for artist in self._artists:
            artist.set_animated(True)  # leaves it out of the frame
        figure.live = self
        # matplotlib calls this whenever an artist changes that is not animated
        figure.stale_callback = lambda figure, stale: self._forget_frame()
        # A new frame may have other limits, and a drawing for a file resets what `stale` says.
        figure.canvas.mpl_connect("draw_event", lambda event: self._recorded.clear())

    def _hear(self, widget, message, buffers):
        self.dragged = message

    def _forget_frame(self):
        self.changed = True

    def _start_tables(self):
        self._recorder, self.changed = StrokeRecorder(self._figure), True
        self._recorded = {}  # by artist, the strokes of what moves
        self._most_styles = math.inf  # the next refresh knows
        self.frame = b""  # numbers that stay the same mean other styles, so they are sent again

    @contextmanager
    def one_table(self) -> Iterator[None]:
        """Record into new tables of styles and glyphs, which hold all that is drawn meanwhile."""
        self._start_tables()
        self._keeps_styles = True
        try:
            yield
        finally:
            self._keeps_styles = False

    def lay_out(self):
        """Lay out what is there now, and keep it so until the next call: nothing jumps."""
        with unhinted():
            self._layout.execute(self._figure)

    @contextmanager
    def laid_out_for_a_moment(self) -> Iterator[None]:
        """Afterwards all axes are where they were before; a second layout takes as long."""
        places = {ax: ax.get_position(original=True) for ax in self._figure.axes}
        try:
            yield
        finally:
            for ax, place in places.items():
                ax.set_position(place)
                ax.set_in_layout(True)  # which set_position ends

    def paint(self):
        """Draw the whole figure on its own canvas, for a PNG."""
        self._figure.canvas.draw()
        self.paint_moving()

    def paint_moving(self):
        """Draw the artists that move on the figure's canvas."""
        with unhinted():
            for artist in self._artists:
                self._figure.draw_artist(artist)

    def store(self, below: str = "") -> tuple[dict, dict]:
        """Draw the whole figure into `stored`; returns its `bundle`."""
        self.paint()
        data, metadata = self._figure.bundle(below)
        self.stored.keep(data, metadata)
        return data, metadata

    def refresh(self):
        """Send what has changed, in one message."""
        with self.hold_sync():
            if len(self._recorder.styles) > self._most_styles and not self._keeps_styles:
                self._start_tables()
            if self.changed:
                self.frame = self._recorder.record(self._figure)
                self.parts = parts_of(self._figure)
                self.changed = False
                self.size = [round(inches * CSS_DPI) for inches in self._figure.get_size_inches()]
                self.axes = [_about(ax) for ax in self._figure.axes if ax.get_visible()]
                self.words = self._recorder.words
            shown = filter(Artist.get_visible, self._artists)
            self.moving = b"".join(map(self._strokes_of, shown))
            self.styles, self.glyphs = self._recorder.styles, self._recorder.glyphs
            self._most_styles = min(self._most_styles, len(self.styles) + ROOM)
            self.summary = self._figure.summary

    def _strokes_of(self, artist):
        if artist.stale or artist not in self._recorded:
            self._recorded[artist] = self._recorder.record(artist)
        return self._recorded[artist]


def _about(ax):
    """What the page needs to read numbers out: the box, and limits, scales and labels.

    Nothing is read out in axes that do not navigate, such as those of a table, that are switched
    off, such as those of a graph, or whose x has names, such as those of bars.
    """
    scale, box = CSS_DPI / ax.figure.dpi, ax.bbox
    corner_and_size = box.x0, ax.figure.bbox.height - box.y1, box.width, box.height
    numbers = isinstance(ax.xaxis.get_major_formatter(), (ScalarFormatter, LogFormatter))
    return {
        "box": [float(pixels) * scale for pixels in corner_and_size],
        "title": ax.get_title(),
        "read": ax.get_navigate() and ax.axison and numbers,
        **{name: _direction(axis) for name, axis in (("x", ax.xaxis), ("y", ax.yaxis))},
    }


def _direction(axis):
    ends = [float(end) for end in axis.get_view_interval()]
    return {"range": ends, "log": axis.get_scale() == "log", "label": axis.get_label_text()}


class StoredPicture(ipywidgets.HTML):
    """Follows a LivePicture in its box, and is seen only where that one cannot run."""

    def __init__(self):
        super().__init__(f"{STYLE}<p>{LINE}</p>")
        self.add_class("stored-picture")

    def keep(self, data: dict, metadata: dict):
        """Show this picture: what `Picture.bundle` returns."""
        text, width = html.escape(data["text/plain"]), metadata["image/png"]["width"]
        source = f"data:image/png;base64,{data['image/png']}"
        style = f"width: {width}px; max-width: 100%"
        self.value = f'{STYLE}<img src="{source}" alt="{text}" style="{style}"><p>{LINE}</p>'
