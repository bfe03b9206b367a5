"""A matplotlib figure for notebooks: sharp, in the page's colours, and with a text alternative."""

import base64
import io

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from autograd_surprises.show.stroke_recorder import CSS_DPI, unhinted
from autograd_surprises.show.widget_view import view_of

WEIGHTS = np.array([0.2126, 0.7152, 0.0722])  # of red, green and blue light, for the eye
DARKEST = 0.43  # ink that stands out on white and on black alike
PIXEL_RATIO = 2  # drawn twice as fine, for sharp screens


def on_any_ground(colours: np.ndarray) -> np.ndarray:
    """Colours on white, n x 3, as ink and its opacity, n x 4, that a dark page shows as well.

    On white they look the same, except that no ink is darker than DARKEST.

    >>> on_any_ground(np.array([[255, 255, 255], [0, 0, 0], [0, 114, 178]])).tolist()
    [[255, 255, 255, 0], [110, 110, 110, 255], [4, 116, 179, 255]]
    """
    absorbed = 1 - colours / 255
    opacity = absorbed.max(1, keepdims=True)
    ink = 1 - absorbed / opacity.clip(1e-9)
    paler = ((1 - DARKEST) / (1 - (ink**2 @ WEIGHTS) ** 0.5).clip(1e-9)).clip(max=1)[:, None]
    shown = np.hstack([1 - (1 - ink) * paler, (opacity / paler).clip(max=1)])
    return (255 * shown).round().astype(np.uint8)


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
        colours = np.reshape(image.getpalette(), (-1, 3))
        image.putpalette(on_any_ground(colours).tobytes(), "RGBA")
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
