"""A matplotlib figure for notebooks: sharp, small, and with a text alternative."""

from __future__ import annotations

import base64
import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

CSS_DPI = 100  # one inch of a figure is this many pixels of the page
PIXEL_RATIO = 2  # drawn twice as fine, for sharp screens


class Picture(Figure):
    """A figure of width x height inches that shows itself in a notebook.

    summary  its text alternative: what can be seen

    >>> figure = Picture(4, 3)
    >>> figure.summary = "an empty figure"
    """

    def __init__(self, width: float, height: float):
        super().__init__((width, height), CSS_DPI * PIXEL_RATIO, layout="constrained")
        FigureCanvasAgg(self)
        self.summary = ""
        self._samples, self._palette = [], None

    def settle(self):
        """Lay out what is there now, and keep this layout, so that nothing jumps later."""
        self.get_layout_engine().execute(self)
        self.set_layout_engine("none")

    def legend_below(self, *handles_and_labels, columns: int, **options):
        """Add a legend without a frame below the axes; otherwise as matplotlib's `legend`."""
        options = {"loc": "outside lower center", **options}
        return self.legend(*handles_and_labels, ncols=columns, frameon=False, **options)

    def png(self) -> bytes:
        """What the canvas shows now, in 256 colours: half the bytes, and it looks the same."""
        if self._palette is None:
            self.sample_colours()
            width, height = self._samples[0].size
            mosaic = Image.new("RGB", (width, height * len(self._samples)))
            for k, sample in enumerate(self._samples):
                mosaic.paste(sample, (0, k * height))
            self._palette = mosaic.quantize(256, method=Image.Quantize.FASTOCTREE)
        buffer = io.BytesIO()
        self._image().quantize(palette=self._palette, dither=Image.Dither.NONE).save(
            buffer, "png", compress_level=1
        )
        return buffer.getvalue()

    def sample_colours(self):
        """Choose the 256 colours of all later PNGs to suit what the canvas shows now, too."""
        image = self._image()
        # every third pixel is enough for the choice, and much faster than all of them
        small = image.width // 3, image.height // 3
        self._samples.append(image.resize(small, Image.Resampling.NEAREST))
        self._palette = None

    def _image(self):
        size = self.canvas.get_width_height()
        return Image.frombuffer("RGBA", size, self.canvas.buffer_rgba()).convert("RGB")

    def bundle(self) -> tuple[dict, dict]:
        """The picture and its text, in the form in which notebooks store outputs."""
        data = {"text/plain": self.summary, "image/png": base64.b64encode(self.png()).decode()}
        width = round(self.get_figwidth() * CSS_DPI)
        return data, {"image/png": {"alt": self.summary, "width": width}}

    def _repr_mimebundle_(self, include=None, exclude=None):
        self.canvas.draw()
        return self.bundle()
