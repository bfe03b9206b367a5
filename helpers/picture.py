"""A matplotlib figure for notebooks: sharp, small, and with a text for those who cannot see it."""

from __future__ import annotations

import base64
import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

CSS_DPI = 100  # one inch of a figure is this many pixels of the page
PIXEL_RATIO = 2  # drawn twice as fine, for sharp screens


class Picture(Figure):
    """A figure of width x height inches that shows itself in a notebook, with its `summary`.

    >>> figure = Picture(4, 3)
    >>> figure.summary = "an empty figure"
    """

    def __init__(self, width: float, height: float):
        super().__init__((width, height), CSS_DPI * PIXEL_RATIO, layout="constrained")
        FigureCanvasAgg(self)
        self.summary = ""

    def png(self) -> bytes:
        """What the canvas shows now, in 256 colours: half the bytes, and no eye can tell."""
        width, height = self.canvas.get_width_height()
        image = Image.frombuffer("RGBA", (width, height), self.canvas.buffer_rgba()).convert("RGB")
        # every fourth pixel is enough to choose the colours by, and much faster than all
        sample = image.resize((width // 4, height // 4), Image.Resampling.NEAREST)
        palette = sample.quantize(256, method=Image.Quantize.FASTOCTREE)
        buffer = io.BytesIO()
        image.quantize(palette=palette, dither=Image.Dither.NONE).save(
            buffer, "png", compress_level=1
        )
        return buffer.getvalue()

    def bundle(self) -> tuple[dict, dict]:
        """The picture and its text, in the form in which notebooks store outputs."""
        data = {"text/plain": self.summary, "image/png": base64.b64encode(self.png()).decode()}
        width = round(self.get_figwidth() * CSS_DPI)
        return data, {"image/png": {"alt": self.summary, "width": width}}

    def _repr_mimebundle_(self, include=None, exclude=None):
        self.canvas.draw()
        return self.bundle()
