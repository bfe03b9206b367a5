"""A matplotlib figure for notebooks: sharp, in the page's colours, and with a text alternative."""

import base64
import io
import math
from itertools import starmap

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from autograd_surprises.show.stroke_recorder import CSS_DPI, unhinted
from autograd_surprises.show.widget_view import view_of

WEIGHTS = (0.2126, 0.7152, 0.0722)  # of red, green and blue light, for the eye
DARKEST = 0.43  # ink that stands out on white and on black alike
PIXEL_RATIO = 2  # drawn twice as fine, for sharp screens


def on_any_ground(red: int, green: int, blue: int) -> bytes:
    """A colour on white as ink and its opacity, four bytes, which a dark page shows as well.

    On white it looks the same, except that no ink is darker than DARKEST.

    >>> [*on_any_ground(255, 255, 255)], [*on_any_ground(0, 0, 0)]
    ([255, 255, 255, 0], [110, 110, 110, 255])
    """
    absorbed = [1 - part / 255 for part in (red, green, blue)]
    opacity = max(absorbed)
    if not opacity:
        return bytes([255, 255, 255, 0])
    ink = [1 - part / opacity for part in absorbed]
    light = math.sqrt(sum(w * part**2 for w, part in zip(WEIGHTS, ink, strict=True)))
    paler = min(1.0, (1 - DARKEST) / max(1e-9, 1 - light))
    shown = [*(1 - (1 - part) * paler for part in ink), min(1.0, opacity / paler)]
    return bytes(round(255 * part) for part in shown)


class Picture(Figure):
    """A figure of width x height inches that shows itself in a notebook.

    A notebook with a kernel replays it from strokes, if anywidget is installed. GitHub and other
    readers without a kernel show the PNG that is stored with it.

    summary  its text alternative: what can be seen

    >>> figure = Picture(4, 3)
    >>> figure.summary = "an empty figure"
    """

    def __init__(self, width: float, height: float):
        super().__init__((width, height), CSS_DPI * PIXEL_RATIO, layout="constrained")
        FigureCanvasAgg(self)
        self.summary, self.live = "", None  # the LivePicture that shows it, if there is one

    def __str__(self):
        return self.summary  # what a terminal shows

    def draw(self, renderer):
        with unhinted():
            super().draw(renderer)

    def legend_below(self, *handles_and_labels, columns: int, **options):
        """Add a legend without a frame below the axes; otherwise as matplotlib's `legend`."""
        options = {"loc": "outside lower center", **options}
        legend = self.legend(*handles_and_labels, ncols=columns, frameon=False, **options)
        for text in legend.get_texts():  # names of functions and methods, which may have a $
            text.set_parse_math(False)
        return legend

    def png(self, below: str = "") -> bytes:
        """What the canvas shows now, in 256 colours: half the bytes, and it looks the same.

        With a line of text below it. Its ground is transparent.
        """
        image = self._pixels()
        # every third pixel is enough to choose the colours, and much faster than all of them
        few = image.resize([side // 3 for side in image.size], Image.Resampling.NEAREST)
        palette = few.quantize(256, method=Image.Quantize.FASTOCTREE)
        if below:
            line = Picture(self.get_figwidth(), 0.3)
            line.text(0.5, 0.5, below, ha="center", va="center", parse_math=False)
            line.canvas.draw()
            both = Image.new("RGB", (image.width, image.height + line._pixels().height))
            both.paste(image)
            both.paste(line._pixels(), (0, image.height))
            image = both
        image = image.quantize(palette=palette, dither=Image.Dither.NONE)
        parts = image.getpalette()
        colours = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        image.putpalette(b"".join(starmap(on_any_ground, colours)), "RGBA")
        buffer = io.BytesIO()
        image.save(buffer, "png")
        return buffer.getvalue()

    def _pixels(self):
        size = self.canvas.get_width_height()
        return Image.frombuffer("RGBA", size, self.canvas.buffer_rgba()).convert("RGB")

    def bundle(self, below: str = "") -> tuple[dict, dict]:
        """The picture and its text, in the form in which notebooks store outputs.

        With a line of text below them.
        """
        text, png = f"{self.summary}\n{below}".strip(), self.png(below)
        width = round(self.get_figwidth() * CSS_DPI)
        data = {"text/plain": text, "image/png": base64.b64encode(png).decode()}
        return data, {"image/png": {"alt": text, "width": width}}

    def _repr_mimebundle_(self, include=None, exclude=None):
        try:
            import ipywidgets

            from autograd_surprises.show.live_picture import LivePicture
        except ImportError:  # without anywidget, the PNG is what there is
            self.canvas.draw()
            return self.bundle()
        if self.live and self.live.changed:  # for instance, it has a title now
            self.live.lay_out()
        live = self.live or LivePicture(self)
        stored, metadata = live.store()
        live.refresh()
        box = ipywidgets.Box(
            [live, live.stored], layout={"display": "block"}
        )  # as wide as the page
        return {**view_of(box.model_id), **stored}, metadata
