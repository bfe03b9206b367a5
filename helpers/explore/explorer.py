"""Sliders below a picture that follows: of a function's gradient, or of any drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from numbers import Real
from time import perf_counter, thread_time
from traceback import walk_tb
from types import TracebackType

import ipywidgets
import torch

from autograd_surprises.show.live_picture import LivePicture
from autograd_surprises.show.widget_view import WithStoredOutput
from helpers.curves.axes import reach_beyond, union
from helpers.curves.numbers import GradientCurve
from helpers.explore.callbacks import Alert, in_this_thread
from helpers.explore.controls import control, in_rows, move_all, nearest, positions, stands_beside
from helpers.explore.drawings.curve import CurveDrawing
from helpers.explore.drawings.draggable_point import PointDrawing
from helpers.explore.drawings.drawing import Drawing
from helpers.explore.drawings.side_by_side import SideBySideDrawing
from helpers.explore.player import row_of
from helpers.explore.printing import each_line_once, silence
from helpers.explore.tries import read_tries, row_of_tries

INTERVAL = (-3.0, 3.0)
OURS = "autograd_surprises.", "helpers.", "lessons."
SLOW = 0.3  # seconds after which a reader wonders what is going on
PATIENCE = 3.0  # seconds of computing for the range of the axes; waiting does not count
PLACES = 5  # of each slider, for the range of the axes
STILL_SHOWN = "The picture still shows the last values that worked."
# How far a setting may reach beyond the axes, as a share of their length.
HAIR = 0.02  # drawn into their margin: it is between two settings that were measured
MORE = 1.0  # they grow for good; beyond, for this setting alone, or it would flatten all others
FAR = 20.0  # beyond, a setting is left out when the axes are made


def explore(
    fn: Callable | Mapping[str, Callable] | Drawing,
    x: tuple[float, float] = INTERVAL,
    *,
    tries: Mapping[object, list] | None = None,
    **sliders: object,
) -> Explorer:
    """Show fn(x) and its gradient on an interval, with a control for each parameter you name.

    `sliders` maps names to ipywidgets' abbreviations: (min, max) or (min, max, step) for a slider,
    a list for a drop-down menu, True or False for a checkbox. `Playable(min, max)` makes a slider
    with a Play button. A control starts at the default in the signature of fn; one named
    `grad_output` sets the upstream gradient. `point=0.3` puts a point on the curve, to be dragged
    or moved by steps of gradient descent. A dict {name: function} in place of fn shows two to four
    functions side by side; a `Drawing` shows something else. `tries={"width": [0.5, 2.0]}` adds a
    button for each setting that is worth seeing; `{("low", "high"): {"narrow": (-1.0, 1.0)}}` adds
    one with a caption, and it sets two controls. The axes suit the defaults and five places of each
    control, and grow for what needs more. Raises TypeError for a name that is not a parameter of
    fn, ValueError for a range without values and for a value outside one, and what fn raises for
    its defaults.

    >>> e = explore(torch.nn.functional.elu, alpha=(0.0, 2.0, 0.5))
    >>> e.set(alpha=0.5); e.summary
    'elu, alpha=0.5: value -0.475 to 3, gradient 0.0249 to 0.5 below 0, 1 above 0, slope the same'
    """
    if isinstance(fn, Drawing):
        if x is not INTERVAL:
            raise TypeError(
                f"x={x!r} is the interval of a function: leave it out for {fn.name!r}, a drawing"
            )
        drawing = fn
    elif isinstance(fn, Mapping):
        drawing = SideBySideDrawing(fn, x)
    elif isinstance(sliders.get("point"), Real) and not isinstance(sliders["point"], bool):
        drawing = PointDrawing(fn, x, sliders.pop("point"))
        sliders = drawing.sliders | sliders
    else:
        drawing = CurveDrawing(fn, x)
    controls = {name: _control_of(drawing, name, sliders[name]) for name in sliders}
    try:
        return Explorer(drawing, controls, tries)
    except Exception as error:
        raise without_our_frames(error) from error.__cause__


def _control_of(drawing, name, range_):
    if name in drawing.reserved:
        raise TypeError(f"{name!r} is a setting of the picture: give fn's parameter another name")
    if name not in drawing.parameters and not drawing.takes_any:
        free = [other for other in drawing.parameters if other not in drawing.reserved]
        raise TypeError(
            f"{name!r} is not a parameter of {drawing.name}: choose from {', '.join(free)}"
        )
    return control(name, range_, drawing.parameters.get(name))


def without_our_frames(error: Exception) -> Exception:
    """The error, its traceback without our frames between the reader's code and the origin.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     without_our_frames(error)
    ZeroDivisionError('division by zero')
    """
    kept = None
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        if kept is None or not frame.f_globals["__name__"].startswith(OURS):
            kept = TracebackType(kept, frame, frame.f_lasti, line)
    return error.with_traceback(kept)


def _warm_up():
    """Let torch import what its first backward needs: the time is not the function's."""
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x, x, torch.ones(1))


class Explorer(WithStoredOutput, ipywidgets.VBox):
    """What `explore` returns: a picture, its controls below it, and buttons above.

    sliders  the controls by name
    values   what they are set to, by name
    tries    the buttons for settings worth seeing, by the label of their row
    shown    what the picture shows: the last values that worked
    drawing  what is shown; that of a function has the GradientCurve now shown as its `curve`
    figure   the figure that is shown
    summary  one line of text that says what the picture shows
    kept     the ranges that the axes hold at all settings but those far away
    """

    def __init__(
        self, drawing: Drawing, sliders: Mapping, tries: Mapping[object, list] | None = None
    ):
        self.drawing, self.sliders = drawing, dict(sliders)
        self.tries = read_tries(tries or {}, self.sliders)
        self.figure = drawing.figure
        if any(artist.get_animated() for artist in drawing.moving):
            raise ValueError("this drawing has its sliders already: make another one")
        _warm_up()
        start = thread_time()
        self._evaluate(self.values)  # raises at once if the defaults cannot be shown
        self._default = drawing.ranges
        self.kept = self._fitted = self._ranges_at_places(thread_time() - start)
        drawing.fit(self.kept)
        self._title = self.figure.suptitle(self._caption, parse_math=False)  # a value may have a $
        self.picture, self.message = LivePicture(self.figure, drawing.moving), Alert()
        self._title.set_text(drawing.name)  # the controls show the values, and text is slow
        self.picture.refresh()
        self._moved = in_this_thread(self._on_move)
        for slider in self.sliders.values():
            slider.observe(self._moved, "value")
        self.picture.handles = [
            handle
            for handle in drawing.handles
            if all(hasattr(self.sliders.get(name), "step") for name in handle["names"] if name)
        ]
        self.picture.observe(in_this_thread(self._on_drag), "dragged")
        controls = [*map(row_of, self.sliders.values())]
        if drawing.step:
            self.step_button = ipywidgets.Button(
                description="Step", button_style="primary", layout={"width": "auto"}
            )
            self.step_button.on_click(in_this_thread(self._on_step))
            controls.insert(0, self.step_button)  # before point and lr
        on_try = in_this_thread(self._on_try)
        tries = [row_of_tries(label, row, on_try) for label, row in self.tries.items()]
        rows = in_rows(controls, self.picture.size[0])
        super().__init__([*tries, self.picture, self.picture.stored, rows, self.message])
        if stands_beside(self.picture.size):
            self.layout.flex_flow, self.layout.align_items = "row wrap", "center"
            for row in (*tries, self.message):
                row.layout.flex = "1 0 calc(100% - 4px)"  # ipywidgets adds a margin
            self.picture.layout.flex = f"0 1 {self.picture.size[0]}px"
            rows.layout.flex, rows.layout.max_width = "1 1 230px", "360px"

    @property
    def values(self) -> dict[str, object]:
        return {name: slider.value for name, slider in self.sliders.items()}

    @property
    def curve(self) -> GradientCurve:
        return self.drawing.curve

    @property
    def summary(self) -> str:
        return self.figure.summary

    def set(self, **values: object) -> None:
        """Move controls as a reader would, all at once, or none of them.

        Raises ValueError for a value that a control cannot take, TypeError for a name that is not
        a control, and whatever the function raises for these values.
        """
        for slider in self.sliders.values():  # one picture, after all of them have moved
            slider.unobserve(self._moved, "value")
        try:
            move_all(self.sliders, values)
        finally:
            for slider in self.sliders.values():
                slider.observe(self._moved, "value")
        self._on_move()

    def show_at(self, **values: object) -> None:
        """Show these values without moving the controls. Raises what the drawing raises."""
        self._evaluate(values)
        self._follow()

    def _on_move(self, change=None):
        if change and change["new"] != change["owner"].value:
            return  # a later move is waiting
        with self.message.on_error(STILL_SHOWN):
            if self._seconds > SLOW:  # for quick ones, a message would cost more
                caption = self.drawing.caption(self.values).replace("\n", " ")
                self.message.say(f"working on {caption} …")
            self.show_at(**self.values)
            self.message.value = ""

    def _on_drag(self, change):
        """Move controls to the values nearest to where a handle was dragged."""
        if change["new"] != self.picture.dragged:
            return  # a later place is waiting
        with self.message.on_error():
            places = change["new"].items()
            self.set(**{name: nearest(self.sliders[name], at) for name, at in places})

    def _on_step(self, button):
        with self.message.on_error():
            self.set(**self.drawing.step(**self.values))

    def _on_try(self, values):
        with self.message.on_error():
            self.set(**values)

    def _evaluate(self, values):
        start = perf_counter()
        try:
            with each_line_once():
                text = self.drawing.show(**values)
        finally:
            self._seconds = perf_counter() - start
        self.shown, self._caption = dict(values), self.drawing.caption(values)
        self.figure.summary = f"{self._caption}: {text}".replace("\n", " ")

    def _ranges_at_places(self, seconds):
        """What the axes have to hold at some places of each control, the others as they are."""
        now, found, start = self.values, self._default, thread_time()
        quick = self._default and seconds < 1
        heavy = [name for name in now if quick and name not in self.drawing.light]
        with silence():
            for name in heavy:
                for value in positions(self.sliders[name], PLACES):
                    if thread_time() - start > PATIENCE:
                        break
                    with suppress(Exception):  # it is raised and shown when the control gets there
                        self.drawing.show(**{**now, name: value})
                        if reach_beyond(found, self.drawing.ranges) <= FAR:
                            found = union([found, self.drawing.ranges])
            if heavy:
                self.drawing.show(**now)
        return found

    def _follow(self):
        """Show what was evaluated, in axes that hold it."""
        reach = reach_beyond(self.kept, self.drawing.ranges)
        grown = union([self.kept, self.drawing.ranges]) if reach > HAIR else self.kept
        self._fit(grown)
        if reach <= MORE:
            self.kept = grown
        self.picture.refresh()

    def _fit(self, ranges):
        if ranges == self._fitted:
            return
        self.drawing.fit(ranges)
        self._title.set_text(self._caption)  # the stored picture has it, and needs the room
        self.picture.lay_out()  # for labels of another length
        self._title.set_text(self.drawing.name)
        self._fitted = ranges

    def stored_output(self):
        """The picture of now, but with the values in `stored` of the drawing."""
        shown = self.shown
        if not self.drawing.stored:
            return self._store_shown()
        self._evaluate({**shown, **self.drawing.stored})
        kept = self._store_shown()
        self._evaluate(shown)
        return kept

    def _store_shown(self):
        fitted = self._fitted
        with self.picture.laid_out_for_a_moment():
            # Such a page may show no controls, so the title has the values.
            self._fit(union([self._default, self.drawing.ranges]))
            self._title.set_text(self._caption)
            output = self.picture.store(self._how_to_move())
        self._title.set_text(self.drawing.name)
        self.drawing.fit(fitted)
        self._fitted = fitted
        return output

    def _how_to_move(self):
        if not self.sliders:
            return ""
        kind = (
            "slider" if all(hasattr(each, "step") for each in self.sliders.values()) else "control"
        )
        plural = "s" if len(self.sliders) > 1 else ""
        return f"Run this cell: {kind}{plural} {', '.join(self.sliders)}"
