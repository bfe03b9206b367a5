"""A widget that searches the gradient atlas and opens each operation in an explorer."""

from __future__ import annotations

import html
import io
import itertools

import ipywidgets
import torch
import traitlets
from PIL import Image, ImageDraw

from autograd_surprises.atlas import CLASSES, Measured, Operation, atlas, describe, select
from autograd_surprises.atlas.measuring import gradient_function, value_function
from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.picture import PIXEL_RATIO
from helpers.curves.axes import limits_with_margin, usual_range
from helpers.widgets.alert import Alert
from helpers.widgets.drawings import CloseUpDrawing
from helpers.widgets.drawings.close_up import HALF_WIDTHS
from helpers.widgets.explorer import Explorer, explore

ROWS = 8
WIDTH, HEIGHT = 150, 40  # of a tiny picture, in pixels of the page
ANY = "any class"


class LiveImage(ipywidgets.Image):
    """An image whose tooltip is its text alternative.

    ipywidgets 8.1 fails in the browser when an Image has a tooltip but no description:
    https://github.com/jupyter-widgets/ipywidgets/issues/3860
    """

    description = traitlets.Unicode("").tag(sync=True)


class AtlasBrowser(ipywidgets.VBox):
    """A search field, a menu of classes, a page of operations; a click opens one in an explorer.

    version   a measured torch version; by default the installed one
    found     the operations that the search finds, as Measured
    shown     those of them on this page
    explorer  the operation that is open, or None

    Each row has the operation, a tiny picture (value on the left, gradient on the right, for x
    from -4 to 4), and what happens to its gradient.
    """

    def __init__(self, version: str | None = None):
        self.numbers, self.page, self._pictures = atlas(version), 0, {}
        self.search = ipywidgets.Text(description="search", placeholder="relu, sqrt, loss …")
        self.of_class = ipywidgets.Dropdown(description="class", options=[ANY, *CLASSES])
        self.back = ipywidgets.Button(description="‹ back", layout={"width": "80px"})
        self.more = ipywidgets.Button(description="more ›", layout={"width": "80px"})
        self.position = ipywidgets.HTML()
        self.rows = [_Row(self._on_click) for _ in range(ROWS)]
        self.opened = ipywidgets.VBox()
        self.explorer: Explorer | None = None
        self.message = Alert()
        self.search.observe(lambda _: self._turn_to(0), "value")
        self.of_class.observe(lambda _: self._turn_to(0), "value")
        self.back.on_click(lambda _: self._turn_to(self.page - 1))
        self.more.on_click(lambda _: self._turn_to(self.page + 1))
        controls = [self.search, self.of_class, self.back, self.more, self.position]
        wrap = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        self._turn_to(0)
        self.choose("torch.abs(x)")
        boxes = [row.box for row in self.rows]
        super().__init__(
            [ipywidgets.HBox(controls, layout=wrap), *boxes, self.message, self.opened]
        )

    @property
    def found(self) -> list[Measured]:
        of_class = "" if self.of_class.value == ANY else self.of_class.value
        return select(self.numbers, self.search.value, of_class)

    @property
    def summary(self) -> str:
        """How many were found, and what happens to the first three of this page."""
        lines = [f"{each.expression}: {describe(each)}" for each in self.shown[:3]]
        return "\n".join([f"found: {len(self.found)}", *lines])

    def choose(self, expression: str):
        """Open an operation in an explorer, as a click on its name does."""
        measured = self.numbers.look_up(expression)
        if measured.error:
            name, error = html.escape(measured.expression), html.escape(measured.error)
            words = f"<b>{name}</b> has no derivative: {error}"
            self.explorer = None
            self.opened.children = [ipywidgets.HTML(f'<div role="status">{words}</div>')]
            return
        drawing = CloseUpDrawing(measured)
        menus = {"at": drawing.places} if len(drawing.places) > 1 else {}
        self.explorer = explore(drawing, **menus, half_width=HALF_WIDTHS)
        self.opened.children = [self.explorer]

    def _on_click(self, expression):
        with self.message.on_error():
            self.choose(expression)

    def _turn_to(self, page):
        with self.message.on_error():
            self._show(page)

    def _show(self, page):
        found = self.found
        last = max(0, (len(found) - 1) // ROWS)
        self.page = min(max(0, page), last)  # a second click may come before the button is grey
        self.back.disabled, self.more.disabled = self.page == 0, self.page == last
        before = self.page * ROWS
        self.shown = found[before : before + ROWS]
        words = f"{before + 1} to {before + len(self.shown)} of {len(found)}"
        self.position.value = f'<div role="status">{words if found else "nothing found"}</div>'
        for row, measured in itertools.zip_longest(self.rows, self.shown):
            row.show(measured, self._picture)

    def _picture(self, measured):
        if measured.expression not in self._pictures:
            self._pictures[measured.expression] = tiny_picture(measured)
        return self._pictures[measured.expression]

    def _repr_mimebundle_(self, **kwargs):
        # for readers without a kernel: the page as text, and the opened operation as a picture
        picture, metadata = {}, {}
        if self.explorer:
            picture, metadata = self.explorer._repr_mimebundle_()
        text = "\n".join([self.summary, picture.get("text/plain", "")])
        return {**picture, **super()._repr_mimebundle_(**kwargs), "text/plain": text}, metadata


class _Row:
    def __init__(self, opens):
        self.expression = None
        self.name = ipywidgets.Button(layout={"width": "290px", "min_width": "290px"})
        self.name.on_click(lambda _: opens(self.expression))
        width = f"{WIDTH}px"
        self.picture = LiveImage(format="png", layout={"width": width, "min_width": width})
        self.words = ipywidgets.HTML(layout={"flex": "1 1 250px"})  # wraps below in narrow pages
        self.box = ipywidgets.HBox(
            [self.name, self.picture, self.words],
            layout={"align_items": "center", "flex_flow": "row wrap"},
        )

    def show(self, measured, picture):
        self.box.layout.display = "none" if measured is None else ""
        if measured is None:
            return
        self.expression = self.name.description = self.name.tooltip = measured.expression
        classes = ", ".join(measured.classes)
        self.words.value = f"<b>{classes}</b>: {html.escape(describe(measured))}"
        with self.picture.hold_sync():
            self.picture.value = picture(measured)
            self.picture.tooltip = f"value and gradient of {measured.expression}"


def tiny_picture(measured: Measured) -> bytes:
    """Value on the left and gradient on the right as a PNG of 150 x 40 pixels of the page.

    >>> tiny_picture(atlas("2.13").operations["torch.abs(x)"])[:4]
    b'\\x89PNG'
    """
    operation, scale = Operation(measured.expression), PIXEL_RATIO
    x = torch.linspace(-4, 4, 257, dtype=torch.float64)
    image = Image.new("RGB", (WIDTH * scale, HEIGHT * scale), "white")
    draw, half = ImageDraw.Draw(image), WIDTH * scale // 2
    parts = [(value_function(operation)(x), VALUE_COLOUR)]
    if measured.backward:
        gradient = gradient_function(operation)(x) + 0  # for torch may return zeros without memory
        parts.append((gradient, GRADIENT_COLOUR))
    for i, (y, colour) in enumerate(parts):
        box = i * half + 4, 4, (i + 1) * half - 8, HEIGHT * scale - 4
        draw.rectangle(box, outline="#dddddd")
        for line in _lines(y, box):
            draw.line(line, fill=colour, width=3)
    buffer = io.BytesIO()
    image.quantize(32).save(buffer, "png")
    return buffer.getvalue()


def _lines(y, box):
    """The curve in the box, lifted where it is not finite and where it jumps."""
    left, top, right, bottom = box
    low, high = limits_with_margin(usual_range(y[y.isfinite()]))
    places = ((y - low) / (high - low)).tolist()  # 0 is the bottom, 1 the top
    usual = y[y.isfinite()].diff().abs().nan_to_num().sort().values / (high - low)
    jump = max(0.1, 10 * usual[len(usual) // 2].item() if len(usual) else 0)
    lines, last = [], None
    for i, place in enumerate(places):
        inside = 0 <= place <= 1
        if inside and (last is None or abs(place - last) > jump):
            lines.append([])
        if inside:
            across, up = i / (len(places) - 1), place
            lines[-1].append((left + across * (right - left), bottom - up * (bottom - top)))
        last = place if inside else None
    return [line if len(line) > 1 else [line[0], (line[0][0] + 3, line[0][1])] for line in lines]
