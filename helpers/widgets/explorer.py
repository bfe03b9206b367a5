"""Sliders above a picture that follows: of a function's gradient, or of any drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ipywidgets

from autograd_surprises.show.live_picture import LivePicture
from helpers.widgets.alert import Alert
from helpers.widgets.controls import control, move_all, reachable
from helpers.widgets.drawings import CurveDrawing, Drawing, SideBySideDrawing
from helpers.widgets.player import row_of
from helpers.widgets.tracebacks import without_our_frames

INTERVAL = (-3.0, 3.0)


def explore(
    fn: Callable | Mapping[str, Callable] | Drawing,
    x: tuple[float, float] = INTERVAL,
    **sliders,
) -> Explorer:
    """Show fn(x) and its gradient on an interval, with a control for each parameter you name.

    `sliders` maps names to ipywidgets' abbreviations: (min, max) or (min, max, step) for a slider,
    a list for a drop-down menu, True or False for a checkbox. `Playable(min, max)` makes a slider
    with a Play button. A control starts at the default in the signature of fn; one named
    `grad_output` sets the upstream gradient. A dict {name: function} in place of fn shows two to
    four functions side by side; a `Drawing` shows something else. Raises TypeError for a name that
    is not a parameter of fn, ValueError for a range without values, and what fn raises for its
    defaults.

    >>> e = explore(torch.nn.functional.elu, alpha=(0.0, 2.0, 0.5))
    >>> e.set(alpha=0.5); e.summary
    'elu, alpha=0.5: value -0.475 to 3, gradient 0.0249 to 1, slope 0.0249 to 1'
    """
    if isinstance(fn, Mapping):
        drawing = SideBySideDrawing(fn, x)
    elif not isinstance(fn, Drawing):
        drawing = CurveDrawing(fn, x)
    elif x is INTERVAL:
        drawing = fn
    else:
        raise TypeError(f"x={x!r} is the interval of a function; {fn.name!r} is a drawing")
    controls = {name: _control_of(drawing, name, sliders[name]) for name in sliders}
    try:
        return Explorer(drawing, controls)
    except Exception as error:
        raise without_our_frames(error) from error.__cause__


def _control_of(drawing, name, range_):
    if name in drawing.reserved:
        raise TypeError(f"{name!r} is a setting of the picture: give fn's parameter another name")
    if name not in drawing.parameters and not drawing.takes_any:
        raise TypeError(
            f"{drawing.name} has no parameter {name!r} to slide, "
            f"it takes {', '.join(drawing.parameters)}"
        )
    return control(name, range_, drawing.parameters.get(name))


class Explorer(ipywidgets.VBox):
    """What `explore` returns: controls above a picture.

    sliders  the controls by name
    values   what they are set to, by name
    drawing  what is shown; that of a function has the GradientCurve now shown as its `curve`
    figure   the figure that is shown
    summary  one line of text that says what the picture shows
    """

    def __init__(self, drawing: Drawing, sliders: Mapping):
        self.drawing, self.sliders = drawing, dict(sliders)
        self.figure = drawing.figure
        if any(artist.get_animated() for artist in drawing.moving):
            raise ValueError("this drawing has its sliders already: make another one")
        drawing.show(**self.values)  # raises at once if the defaults cannot be shown
        settings = list(reachable(self.sliders))
        drawing.fit(settings)
        self._title = self.figure.suptitle(drawing.caption(self.values))
        self.picture, self.message = LivePicture(self.figure, drawing.moving), Alert()
        self._title.set_text(drawing.name)  # the controls show the values, and text is slow
        self._draw()
        for slider in self.sliders.values():
            slider.observe(self._on_move, "value")
        super().__init__([*map(row_of, self.sliders.values()), self.picture, self.message])

    @property
    def values(self) -> dict:
        return {name: slider.value for name, slider in self.sliders.items()}

    @property
    def curve(self):
        return self.drawing.curve

    @property
    def summary(self) -> str:
        return self.figure.summary

    def set(self, **values):
        """Move controls as a reader would, all at once, or none of them.

        Raises ValueError for a value that a control cannot take, TypeError for a name that is not
        a control, and whatever the function raises for these values.
        """
        for slider in self.sliders.values():  # one picture, after all of them have moved
            slider.unobserve(self._on_move, "value")
        try:
            move_all(self.sliders, values)
        finally:
            for slider in self.sliders.values():
                slider.observe(self._on_move, "value")
        self._on_move()

    def _draw(self):
        said = self.drawing.show(**self.values)
        self._caption = self.drawing.caption(self.values)
        self.figure.summary = f"{self._caption}: {said}".replace("\n", " ")
        self.picture.refresh()

    def _on_move(self, change=None):
        with self.message.on_error("The picture still shows the last values that worked."):
            self._draw()

    def _repr_mimebundle_(self, **kwargs):
        # The picture goes along for readers without a kernel: GitHub, nbviewer, exported HTML.
        # They see no controls, so its title has the values.
        self._title.set_text(self._caption)
        self.picture.paint()
        picture, metadata = self.figure.bundle()
        self._title.set_text(self.drawing.name)
        return {**super()._repr_mimebundle_(**kwargs), **picture}, metadata
