"""A playground: type a formula, and a gradient of your own, and see what they look like."""

import asyncio
import itertools
from time import perf_counter

import ipywidgets

from autograd_surprises.show.live_picture import LivePicture
from autograd_surprises.show.widget_view import WithStoredOutput
from helpers.curves.axes import union
from helpers.curves.figures import title_with
from helpers.curves.numbers import GradientCurve
from helpers.explore.callbacks import Alert, error_line, in_this_thread
from helpers.explore.controls import control, in_rows, positions
from helpers.explore.explorer import Explorer, explore
from helpers.explore.range_search import RangeSearch
from lessons.drawings import TypedDrawing
from lessons.drawings.typed_curve import FORMULA
from lessons.formula import FormulaError, Typed

EXAMPLES = (
    Typed("x * sigmoid(a * x)"),
    Typed("clamp(round(x / a), -4, 3) * a"),
    Typed("clamp(round(x / a), -4, 3) * a", gradient="1"),
    Typed("x + (round(x / a) * a - x).detach()"),
    Typed("sign(x)", gradient="1 - tanh(a * x)**2"),
    Typed("maximum(x, a * x)"),
    Typed("where(x > 0, sqrt(a * x), 0)"),
)
RANGE, START = (-2.0, 2.0, 0.1), 1.0  # of the slider of each free name
STILL = "The picture shows the last formula that worked."
QUIET = 0.7  # seconds without a key until sliders come and go, or each letter would move the page


class Playground(WithStoredOutput, ipywidgets.VBox):
    """A field for a formula, one for a gradient in place of its own, and their picture.

    Each free name of the two gets a slider. While a formula is half typed, a line says what is
    missing or wrong, and the picture still shows the last one that worked.

    >>> playground = Playground()
    >>> playground.formula.value = "b * x"; playground.sliders["b"].value = 0.5
    >>> playground.summary
    'y = b * x, b=0.5: value -1.5 to 1.5, gradient 0.5, slope 0.5'

    formula   the field for the formula
    gradient  the field for the gradient; empty for the one that autograd returns
    examples  buttons, each with a formula to click
    message   what is wrong with what is typed; else empty
    sliders   those of the free names of the formulas that are shown, by name
    summary   one line of text that says what the picture shows
    """

    def __init__(self):
        self.typed = None
        self._sliders = {}  # those of all names so far: they keep their values
        self.formula = _field(FORMULA, EXAMPLES[0].formula, "a formula in x")
        self.gradient = _field("gradient =", EXAMPLES[0].gradient, "empty for autograd's own")
        self.examples = [self._example(typed) for typed in EXAMPLES]
        self.message = Alert()
        self.message.layout.min_height = "30px"  # so that nothing below it jumps
        self.drawing = TypedDrawing()
        self.figure = self.drawing.figure
        self._title = self.figure.suptitle("", parse_math=False)
        self._moved = in_this_thread(self._on_slider)
        self._fitted = None
        self._show(EXAMPLES[0])
        self.picture = LivePicture(self.figure, self.drawing.moving)
        self.picture.refresh()
        self.rows = in_rows([], self.picture.size[0])
        self._place_sliders()
        typed = in_this_thread(self._on_text)
        for field in (self.formula, self.gradient):
            field.observe(typed, "value")
        buttons = ipywidgets.HBox(self.examples, layout={"flex_flow": "row wrap"})
        fields = [self.formula, self.gradient, buttons, self.message]
        super().__init__([*fields, self.picture, self.picture.stored, self.rows])

    @property
    def sliders(self) -> dict[str, ipywidgets.FloatSlider]:
        return {name: self._slider(name) for name in self.typed.names}

    @property
    def curve(self) -> GradientCurve:
        return self.drawing.curve

    @property
    def summary(self) -> str:
        return self.figure.summary

    def with_examples(self) -> Explorer:
        """The examples and a slider as an explorer, for a page on which nobody can type."""
        choices = [(typed.caption, typed) for typed in EXAMPLES]
        explorer = explore(TypedDrawing(), **{FORMULA: choices, "a": RANGE})
        explorer.set(a=START)
        return explorer

    def _on_text(self, change):
        self._try(Typed(self.formula.value, self.gradient.value))
        self._quiet_at = perf_counter() + QUIET
        try:
            asyncio.get_running_loop().call_later(QUIET, self._place_when_quiet)
        except RuntimeError:  # plain Python has no loop, and no time between keys
            self._place_sliders()

    def _on_slider(self, change):
        self._try(self.typed)

    def _on_example(self, typed):
        self.formula.value, self.gradient.value = typed
        self._place_sliders()

    def _try(self, typed):
        """Show this, or say why not."""
        try:
            self._show(typed)
        except FormulaError as error:
            self.message.say(f"{error}. {STILL}")
        except Exception as error:  # torch raises many kinds for what somebody may type
            self.message.say(f"{error_line(error)}. {STILL}")
        else:
            if self.picture.changed:
                self.picture.lay_out()  # for labels of another length
            self.picture.refresh()
            if typed == (self.formula.value, self.gradient.value):
                self.message.value = ""

    def _show(self, typed):
        sliders = {name: self._slider(name) for name in typed.names}
        values = {FORMULA: typed, **{name: slider.value for name, slider in sliders.items()}}
        text = self.drawing.show(**values)
        if typed != self.typed:
            self._reach = _ranges(self.drawing, typed, sliders)
            self._title.set_text(title_with(f"{FORMULA} {typed.caption}", {}))
        self.typed, self._values = typed, values
        self.figure.summary = f"{self.drawing.caption(values)}: {text}".replace("\n", " ")
        ranges = union([self._reach, self.drawing.ranges])
        if ranges != self._fitted:
            self.drawing.fit(ranges)
            self._fitted = ranges

    def _slider(self, name):
        if name not in self._sliders:
            self._sliders[name] = control(name, RANGE, START)
            self._sliders[name].observe(self._moved, "value")
        return self._sliders[name]

    def _place_when_quiet(self):
        if perf_counter() > self._quiet_at - 0.1:
            self._place_sliders()

    def _place_sliders(self):
        self.rows.children = tuple(self.sliders.values())

    def _example(self, typed):
        button = ipywidgets.Button(description=typed.caption, layout={"width": "auto"})
        button.on_click(in_this_thread(lambda button: self._on_example(typed)))
        return button

    def stored_output(self):
        self._title.set_text(self.drawing.caption(self._values))  # no slider shows the values there
        output = self.picture.store()
        self._title.set_text(title_with(f"{FORMULA} {self.typed.caption}", {}))
        return output


def _field(name, value, placeholder):
    field = ipywidgets.Text(value, description=name, placeholder=placeholder)
    field.layout.width, field.layout.max_width = "auto", "700px"
    field.style.description_width = "80px"
    return field


def _ranges(drawing, typed, sliders):
    """Ranges that hold what the sliders can reach, without poles far away from all else."""
    ends = [positions(slider, most=3) for slider in sliders.values()]
    settings = [dict(zip(sliders, values, strict=True)) for values in itertools.product(*ends)]
    search = RangeSearch(drawing, [{FORMULA: typed, **values} for values in settings])
    while search.left:
        search.step()
    return search.ranges
