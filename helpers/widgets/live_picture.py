"""A figure on the page that is redrawn quickly when some of its parts move."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets
import traitlets
from matplotlib.artist import Artist

from autograd_surprises.show.picture import CSS_DPI, Picture


class LiveImage(ipywidgets.Image):
    """An image whose tooltip is its text alternative.

    ipywidgets 8.1 fails in the browser when an Image has a tooltip but no description:
    https://github.com/jupyter-widgets/ipywidgets/issues/3860
    """

    description = traitlets.Unicode("").tag(sync=True)


class LivePicture(LiveImage):
    """A figure as an image on the page; `refresh` sends its present state.

    moving  the artists that move, in the order in which they are drawn

    Drawing a whole figure takes about ten times as long as drawing its curves. So everything that
    does not move, the frame, is drawn once and kept until something in it changes.

    >>> figure = Picture(8, 3); (curve,) = figure.subplots().plot([0, 1], [0, 1])
    >>> picture = LivePicture(figure, [curve]); picture.refresh()
    >>> curve.set_ydata([1, 0]); picture.refresh()  # draws the curve, not the axes
    """

    def __init__(self, figure: Picture, moving: Sequence[Artist]):
        super().__init__(format="png", width=round(figure.get_figwidth() * CSS_DPI))
        self.layout = ipywidgets.Layout(max_width="100%", object_fit="contain")
        self._figure, self._moving, self._frame = figure, moving, None
        figure.settle()
        for artist in moving:
            artist.set_animated(True)  # leaves it out of the frame
        # matplotlib calls this whenever an artist changes that is not animated
        figure.stale_callback = lambda figure, stale: self._forget_frame()

    def _forget_frame(self):
        self._frame = None

    def paint(self):
        """Draw the moving artists on a copy of the frame, on the figure's canvas."""
        canvas = self._figure.canvas
        if self._frame is None:
            canvas.draw()
            self._frame = canvas.copy_from_bbox(self._figure.bbox)
        canvas.restore_region(self._frame)
        for artist in self._moving:
            self._figure.draw_artist(artist)

    def refresh(self):
        """Paint, and show the result with the figure's summary as its text alternative."""
        self.paint()
        with self.hold_sync():  # one message to the browser, not two
            self.value, self.tooltip = self._figure.png(), self._figure.summary
