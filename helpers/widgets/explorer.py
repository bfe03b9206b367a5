"""Sliders above a picture that follows: of a function's gradient, or of any drawing."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from contextlib import suppress

import ipywidgets
import traitlets

from autograd_surprises.show.picture import CSS_DPI
from helpers.widgets.controls import control, move, reachable
from helpers.widgets.drawings import CurveDrawing, Drawing

INTERVAL = (-3.0, 3.0)


def explore(fn: Callable | Drawing, x: tuple[float, float] = INTERVAL, **sliders) -> Explorer:
    """Show fn(x) and its gradient on an interval, with a control for each parameter you name.

    `sliders` takes ipywidgets' abbreviations: (min, max) or (min, max, step) for a slider, a list
    for a drop-down menu, True or False for a checkbox. A control starts at the default value in
    the signature of fn. The name `grad_output` slides the upstream gradient. In place of fn, a
    `Drawing` shows something else. Raises TypeError for a name that is not a parameter of fn,
    ValueError for a range that makes no slider.

    >>> e = explore(torch.nn.functional.elu, alpha=(0.0, 2.0, 0.5))
    >>> e.set(alpha=0.5); e.summary
    'elu, alpha=0.5: value -0.475 to 3, gradient 0.0249 to 1, slope 0.0249 to 1'
    """
    if not isinstance(fn, Drawing):
        drawing = CurveDrawing(fn, x)
    elif x is INTERVAL:
        drawing = fn
    else:
        raise TypeError(f"x={x!r} is the interval of a function; {fn.name!r} is a drawing")
    return Explorer(drawing, {name: _control(drawing, name, sliders[name]) for name in sliders})


def _control(drawing, name, range_):
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
    summary  one line of text saying what the picture shows

    Drawing a whole figure takes far longer than drawing its curves. So each move of a slider
    puts only what moves on a frame that is drawn once and kept.
    """

    def __init__(self, drawing: Drawing, sliders: Mapping):
        self.drawing, self.sliders = drawing, dict(sliders)
        self.figure, self._frames = drawing.figure, {}
        if any(artist.get_animated() for artist in drawing.moving):
            raise ValueError("this drawing has its sliders already: make another one")
        drawing.show(**self.values)  # what cannot be shown at all is raised here
        settings = list(reachable(self.sliders))
        drawing.fit(settings)
        self._title = self.figure.suptitle(drawing.caption(self.values))
        self.picture = LiveImage(format="png", width=round(self.figure.get_figwidth() * CSS_DPI))
        self.picture.layout = ipywidgets.Layout(max_width="100%", object_fit="contain")
        self.message = ipywidgets.HTML()
        self.figure.settle()
        for artist in drawing.moving:
            artist.set_animated(True)  # leaves it out of the frame
        self._title.set_text(drawing.name)  # the controls show the values, and text is slow
        for values in (settings[0], settings[-1]):  # all controls at one end, and at the other
            with suppress(Exception):  # it is raised when the controls get there
                drawing.show(**values)
                self._paint()
                self.figure.sample_colours()
        self._draw()
        for slider in self.sliders.values():
            slider.observe(self._on_move, "value")
        super().__init__([*self.sliders.values(), self.picture, self.message])

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
        """Move controls as a hand would, all at once. Raises for a value they cannot take."""
        unknown = [name for name in values if name not in self.sliders]
        if unknown:
            raise TypeError(f"no control {unknown[0]!r} here, only {', '.join(self.sliders)}")
        before = self.values
        for slider in self.sliders.values():  # min and max may have to pass each other
            slider.unobserve(self._on_move, "value")
        try:
            for name, value in values.items():
                move(self.sliders[name], name, value)
        except Exception:
            for name, value in before.items():
                self.sliders[name].value = value
            raise
        finally:
            for slider in self.sliders.values():
                slider.observe(self._on_move, "value")
        self._on_move()

    def _paint(self):
        """Put what moves on a copy of the frame: all that does not move, drawn once and kept."""
        key = self._title.get_text(), self.drawing.frame
        if key not in self._frames:
            if len(self._frames) > 4:  # each is as big as the picture
                self._frames.clear()
            self.figure.canvas.draw()
            self._frames[key] = self.figure.canvas.copy_from_bbox(self.figure.bbox)
        self.figure.canvas.restore_region(self._frames[key])
        for artist in self.drawing.moving:
            self.figure.draw_artist(artist)

    def _draw(self):
        said = self.drawing.show(**self.values)
        self._paint()
        self._caption = self.drawing.caption(self.values)
        self.figure.summary = f"{self._caption}: {said}".replace("\n", " ")
        with self.picture.hold_sync():  # one message to the browser, not two
            self.picture.value = self.figure.png()
            self.picture.tooltip = self.figure.summary

    def _on_move(self, change=None):
        # When a browser moved the slider, a raised error reaches only a log: show it here, too.
        try:
            self._draw()
        except Exception as error:
            text = html.escape(f"{type(error).__name__}: {error}")
            self.message.value = (
                f'<div role="alert" style="color: var(--jp-error-color1, #b00020)">{text}<br>'
                "The picture still shows the last values that worked.</div>"
            )
            raise
        self.message.value = ""

    def _repr_mimebundle_(self, **kwargs):
        # The picture goes along for readers without a kernel: GitHub, nbviewer, exported HTML.
        # They see no controls, so its title has the values.
        self._title.set_text(self._caption)
        self._paint()
        picture, metadata = self.figure.bundle()
        self._frames.popitem()
        self._title.set_text(self.drawing.name)
        return {**super()._repr_mimebundle_(**kwargs), **picture}, metadata


class LiveImage(ipywidgets.Image):
    """An image whose tooltip is its text alternative.

    ipywidgets 8.1 fails in the browser when an Image has a tooltip but no description:
    https://github.com/jupyter-widgets/ipywidgets/issues/3860
    """

    description = traitlets.Unicode("").tag(sync=True)
