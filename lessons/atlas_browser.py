"""A widget that searches the gradient atlas and opens each operation in an explorer."""

import html
import itertools

import ipywidgets
import torch

from autograd_surprises.atlas import CLASSES, Measured, Operation, atlas, describe, select
from autograd_surprises.atlas.measuring import gradient_function, value_function
from autograd_surprises.numerics import few_digits
from autograd_surprises.show.colours import GRADIENT_COLOUR, VALUE_COLOUR
from autograd_surprises.show.findings import with_code
from autograd_surprises.show.widget_view import WithStoredOutput
from helpers.curves.axes import limits_with_margin, usual_range
from helpers.explore.callbacks import Alert, in_this_thread
from helpers.explore.explorer import Explorer, explore
from lessons.drawings import CloseUpDrawing
from lessons.drawings.close_up import HALF_WIDTHS

ROWS = 8
WIDTH, HEIGHT = 150, 40  # of a tiny picture, in pixels of the page
ANY = "any class"
# Picture, operation and words in a line, as many of them as the page has room for. Long names are
# shown whole, and the lines of a text are closer than those of ipywidgets' labels.
STYLE = f"""<style>
.atlas-row {{ align-items: center; flex-flow: row wrap; margin-bottom: 8px }}
.atlas-row > :nth-child(1) {{ flex: none; width: {WIDTH}px }}
.atlas-row > :nth-child(2) {{
  flex: 1 1 190px; max-width: 300px; height: auto; padding: 4px 10px;
  line-height: 1.4; text-align: left; white-space: normal; overflow-wrap: anywhere;
}}
.atlas-row > :nth-child(3) {{ flex: 1 1 300px; min-width: 0 }}
.atlas-row .widget-html-content {{ line-height: 1.4; overflow-wrap: anywhere }}
.atlas-row svg {{ display: block }}
</style>"""


class AtlasBrowser(WithStoredOutput, ipywidgets.VBox):
    """A search field, a menu of classes, a page of operations; a click opens one in an explorer.

    version   a measured torch version; by default the installed one
    found     the operations that the search finds, as Measured
    shown     those of them on this page
    explorer  the operation that is open, or None

    Each row has a tiny picture (value on the left, gradient on the right, for x from -4 to 4), the
    operation, and what happens to its gradient.
    """

    def __init__(self, version: str | None = None):
        self.numbers, self.page, self._pictures = atlas(version), 0, {}
        self.search = ipywidgets.Text(description="search", placeholder="relu, sqrt, loss …")
        self.of_class = ipywidgets.Dropdown(description="class", options=[ANY, *CLASSES])
        self.back = ipywidgets.Button(description="‹ back", layout={"width": "80px"})
        self.more = ipywidgets.Button(description="more ›", layout={"width": "80px"})
        self.position = ipywidgets.HTML()
        self.rows = [_Row(in_this_thread(self._on_click)) for _ in range(ROWS)]
        self.opened = ipywidgets.VBox()
        self.explorer: Explorer | None = None
        self.message = Alert()
        turn_to = in_this_thread(self._turn_to)
        self.search.observe(lambda _: turn_to(0), "value")
        self.of_class.observe(lambda _: turn_to(0), "value")
        self.back.on_click(lambda _: turn_to(self.page - 1))
        self.more.on_click(lambda _: turn_to(self.page + 1))
        controls = [self.search, self.of_class, self.back, self.more, self.position]
        wrap = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        self._turn_to(0)
        self.choose(self.shown[0].expression)
        style = ipywidgets.HTML(STYLE, layout={"display": "none"})
        boxes = [row.box for row in self.rows]
        super().__init__(
            [style, ipywidgets.HBox(controls, layout=wrap), *boxes, self.message, self.opened]
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
            name, error = html.escape(measured.expression), with_code(measured.error)
            words = f"<b>{name}</b> has no derivative: {error}"
            self.explorer = None
            self.opened.children = [ipywidgets.HTML(f'<div role="status">{words}</div>')]
            return
        drawing = CloseUpDrawing(measured)
        menus = {"at": drawing.places} if len(drawing.places) > 1 else {}
        self.explorer = explore(drawing, **menus, half_width=HALF_WIDTHS)
        self.explorer.stored_output()
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

    def stored_output(self):
        """The operations on this page, and a picture of the opened one."""
        # A stored text has to be true for every torch, so it leaves out what happens to them.
        picture, metadata = {}, {}
        if self.explorer:
            picture, metadata = self.explorer.stored_output()
        names = [each.expression for each in self.shown]
        text = "\n".join([f"found: {len(self.found)}", *names, picture.get("text/plain", "")])
        return {**picture, "text/plain": text}, metadata


class _Row:
    def __init__(self, opens):
        self.expression = None
        self.picture, self.words = ipywidgets.HTML(), ipywidgets.HTML()
        self.name = ipywidgets.Button()
        self.name.on_click(lambda _: opens(self.expression))
        self.box = ipywidgets.HBox([self.picture, self.name, self.words])
        self.box.add_class("atlas-row")

    def show(self, measured, picture):
        self.box.layout.display = "none" if measured is None else ""
        if measured is None:
            return
        self.expression = self.name.description = measured.expression
        self.picture.value = picture(measured)
        classes = ", ".join(measured.classes)
        self.words.value = f"<b>{classes}</b>: {with_code(describe(measured))}"


def tiny_picture(measured: Measured) -> str:
    """Value on the left and gradient on the right as an SVG, whose title says what they reach.

    Both colours are seen on light and on dark pages, and the frames have the colour of the text.

    >>> picture = tiny_picture(atlas("2.13").operations["torch.abs(x)"])
    >>> picture[picture.index("<title>") : picture.index("</title>")]
    '<title>torch.abs(x) for x from -4 to 4: value 0 to 4, gradient -1 to 1'
    """
    operation = Operation(measured.expression)
    x = torch.linspace(-4, 4, 129, dtype=torch.float64)
    parts = {"value": (value_function(operation)(x), VALUE_COLOUR)}
    if measured.backward:
        gradient = gradient_function(operation)(x) + 0  # for torch may return zeros without memory
        parts["gradient"] = gradient, GRADIENT_COLOUR
    reaches, shapes = [], []
    for i, (name, (y, colour)) in enumerate(parts.items()):
        low, high = limits_with_margin(usual_range(y[y.isfinite()]))
        reaches.append(f"{name} {_reach(y[(low <= y) & (y <= high)])}")
        box = i * WIDTH / 2 + 1, 1, (i + 1) * WIDTH / 2 - 3, HEIGHT - 1
        left, top, right, bottom = box
        frame = f'<path d="M{left} {top}H{right}V{bottom}H{left}Z"'
        shapes.append(f'{frame} stroke="currentColor" stroke-opacity="0.3"/>')
        for line in _lines((y - low) / (high - low), box):
            radius = 1.8 if len(line) == 1 else 0.8
            points = " L".join(f"{across:.1f} {down:.1f}" for across, down in line)
            # h0 draws a line of one point, too
            shapes.append(f'<path d="M{points}h0" stroke="{colour}" stroke-width="{2 * radius}"/>')
    title = f"{html.escape(measured.expression)} for x from -4 to 4: {', '.join(reaches)}"
    size = f'width="{WIDTH}" height="{HEIGHT}"'
    svg = f'<svg role="img" {size} fill="none" stroke-linecap="round"><title>{title}</title>'
    return f"{svg}{''.join(shapes)}</svg>"


def _reach(y):
    """The lowest and the highest of these numbers, in words."""
    if not len(y):
        return "is no number"
    return " to ".join(dict.fromkeys(few_digits(each.item(), 3) for each in (y.min(), y.max())))


def _lines(heights, box):
    """The curve in the box as lists of points, parted where it is not finite and where it jumps.

    heights  from 0, the bottom of the box, to 1, its top
    """
    left, top, right, bottom = box
    lines, last = [], None
    for i, (height, jumps) in enumerate(zip(heights.tolist(), _jumps(heights), strict=True)):
        inside = 0 <= height <= 1
        if inside and (last is None or jumps):
            lines.append([])
        if inside:
            across = i / (len(heights) - 1)
            point = left + across * (right - left), bottom - height * (bottom - top)
            lines[-1].append(point)
        last = height if inside else None
    return lines


def _jumps(heights):
    """Where a step is far larger than one of those beside it. Towards a pole, steps grow slowly."""
    edge = torch.full((1,), torch.inf, dtype=heights.dtype)
    steps = torch.cat([edge, heights.diff().abs().nan_to_num(torch.inf, torch.inf), edge])
    beside = torch.minimum(steps[:-2], steps[2:])
    return [False, *((steps[1:-1] > 0.04) & (beside < steps[1:-1] / 8)).tolist()]
