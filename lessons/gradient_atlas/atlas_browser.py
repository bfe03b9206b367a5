"""A widget that searches the gradient atlas and opens each operation in an explorer."""

import html

import ipywidgets

from autograd_surprises.atlas import CLASSES, Measured, atlas, describe, select
from autograd_surprises.show.findings import with_code
from autograd_surprises.show.widget_view import WithStoredOutput
from helpers.explore.callbacks import Alert, in_this_thread
from helpers.explore.explorer import Explorer, explore
from lessons.asking.arrow_keys import ArrowKeys
from lessons.gradient_atlas.drawings import HALF_WIDTHS, CloseUpDrawing

ROWS = 8
ANY = "any class"


class AtlasBrowser(WithStoredOutput, ipywidgets.VBox):
    """A search field, a menu of classes, and a list of operations; the chosen one in an explorer.

    version   a measured torch version; by default the installed one
    found     the operations that the search finds, as Measured
    explorer  the operation that is open, or None

    >>> browser = AtlasBrowser("2.13")
    >>> browser.search.value = "hardtanh"
    >>> browser.operations.options
    ('F.hardtanh(x)',)
    """

    def __init__(self, version: str | None = None):
        self.numbers = atlas(version)
        self.search = ipywidgets.Text(description="search", placeholder="relu, sqrt, loss …")
        self.of_class = ipywidgets.Dropdown(description="class", options=[ANY, *CLASSES])
        self.count, self.words = ipywidgets.HTML(), ipywidgets.HTML()
        self.operations = ipywidgets.Select(
            description="operation", rows=ROWS, layout={"flex": "1 1 200px", "min_width": "0"}
        )
        self.opened = ipywidgets.VBox()
        self.explorer: Explorer | None = None
        self.message = Alert()
        self._chosen = in_this_thread(self._on_choice)
        self.operations.observe(self._chosen, "value")
        for field in (self.search, self.of_class):
            field.observe(in_this_thread(self._on_search), "value")
        self._list()
        self.choose(self.found[0].expression)
        wrap = ipywidgets.Layout(flex_flow="row wrap")
        fields = ipywidgets.VBox([self.search, self.of_class, self.count])
        top = ipywidgets.HBox([fields, self.operations], layout=wrap)
        keys = ipywidgets.Box([ArrowKeys()], layout={"display": "none"})
        super().__init__([top, self.words, self.message, self.opened, keys])

    @property
    def found(self) -> list[Measured]:
        of_class = "" if self.of_class.value == ANY else self.of_class.value
        return select(self.numbers, self.search.value, of_class)

    @property
    def summary(self) -> str:
        """How many were found, and what happens to the first three."""
        lines = [f"{each.expression}: {describe(each)}" for each in self.found[:3]]
        return "\n".join([f"found: {len(self.found)}", *lines])

    def choose(self, expression: str):
        """Open an operation in an explorer, as a click on its name does."""
        measured = self.numbers.look_up(expression)
        name, classes = html.escape(measured.expression), ", ".join(measured.classes)
        words = f"<b>{name}</b>, {classes}: {with_code(describe(measured))}"
        self.words.value = f'<div role="status">{words}</div>'
        self.explorer = None
        if not measured.error:
            drawing = CloseUpDrawing(measured)
            menus = {"at": drawing.places} if len(drawing.places) > 1 else {}
            self.explorer = explore(drawing, **menus, half_width=HALF_WIDTHS)
            self.explorer.stored_output()
        self.opened.children = [self.explorer] if self.explorer else []

    def _on_choice(self, change):
        if change["new"] is not None:
            with self.message.on_error():
                self.choose(change["new"])

    def _on_search(self, change):
        with self.message.on_error():
            self._list()

    def _list(self):
        """Show what is found. The open operation stays until one is chosen."""
        self.operations.unobserve(self._chosen, "value")
        self.operations.options = [each.expression for each in self.found]
        self.operations.index = None
        self.operations.observe(self._chosen, "value")
        self.count.value = f'<div role="status">found: {len(self.found)}</div>'

    def stored_output(self):
        """The first operations, and a picture of the opened one."""
        # A stored text has to be true for every torch, so it leaves out what happens to them.
        picture, metadata = {}, {}
        if self.explorer:
            picture, metadata = self.explorer.stored_output()
        names = [each.expression for each in self.found[:ROWS]]
        text = "\n".join([f"found: {len(self.found)}", *names, picture.get("text/plain", "")])
        return {**picture, "text/plain": text}, metadata
