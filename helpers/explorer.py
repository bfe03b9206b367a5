"""Sliders that change a function, and a picture of its gradient that follows."""

from __future__ import annotations

import html
import inspect
import itertools
from collections.abc import Callable, Mapping

import ipywidgets
import traitlets
from ipywidgets.widgets.interaction import interactive

from helpers.curves import fn_name, gradient_curve
from helpers.picture import CSS_DPI
from helpers.plotting import curve_figure, curve_title


def explore(fn: Callable, x: tuple[float, float] = (-3.0, 3.0), **sliders) -> Explorer:
    """Show fn(x) and its gradient on an interval, with a control for each parameter you name.

    `sliders` takes ipywidgets' abbreviations: (min, max) or (min, max, step) for a slider, a list
    for a drop-down menu, True or False for a checkbox. A control starts at the default value in
    the signature of fn. The name `grad_output` slides the upstream gradient. Raises TypeError for
    a name that is not a parameter of fn, ValueError for a range that makes no slider.

    >>> e = explore(torch.nn.functional.elu, alpha=(0.0, 2.0, 0.5))
    >>> e.set(alpha=0.5); e.summary
    'elu, alpha=0.5: value -0.475 to 3, gradient 0.0249 to 1, slope 0.0249 to 1'
    """
    return Explorer(fn, x, _controls(fn, sliders))


class Explorer(ipywidgets.VBox):
    """What `explore` returns: controls above a picture.

    sliders  the controls by name
    values   what they are set to, by name
    curve    the GradientCurve now shown
    summary  one line of text saying what the picture shows

    Drawing a whole figure takes far longer than drawing its curves. So each move of a slider
    puts only the curves on a frame that is drawn once and kept.
    """

    def __init__(self, fn: Callable, x: tuple[float, float], sliders: Mapping):
        self.fn, self.x, self.sliders = fn, x, dict(sliders)
        self.figure, self._artists = curve_figure(fn)
        self._title = self.figure.suptitle(curve_title(fn, self.values))
        self.picture = _Image(format="png", width=round(self.figure.get_figwidth() * CSS_DPI))
        self.picture.layout = ipywidgets.Layout(max_width="100%", object_fit="contain")
        self.message = ipywidgets.HTML()
        self._curves = self._reachable_curves()
        self._fit(self._curves)
        self.figure.canvas.draw()
        self.figure.set_layout_engine("none")  # found once, so that nothing jumps later
        for artist in self._artists.moving:
            artist.set_animated(True)  # leaves it out of the frame
        self._title.set_text(fn_name(fn))  # the controls show the values, and text is slow
        self._draw()
        for slider in self.sliders.values():
            slider.observe(self._on_move, "value")
        super().__init__([*self.sliders.values(), self.picture, self.message])

    @property
    def values(self) -> dict:
        return {name: slider.value for name, slider in self.sliders.items()}

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
                _move(self.sliders[name], name, value)
        except Exception:
            for name, value in before.items():
                self.sliders[name].value = value
            raise
        finally:
            for slider in self.sliders.values():
                slider.observe(self._on_move, "value")
        self._on_move()

    def _measure(self, values):
        return gradient_curve(self.fn, self.x, **values)

    def _reachable_curves(self):
        """The curve now set, and one for each of many combinations of the controls."""
        curves = [self._measure(self.values)]
        many = max(2, int(65 ** (1 / max(1, len(self.sliders)))))
        places = [_positions(slider, min(many, 17)) for slider in self.sliders.values()]
        for values in itertools.product(*places):
            try:
                curves.append(self._measure(dict(zip(self.sliders, values, strict=True))))
            except Exception:  # it is shown and raised when the controls get there
                continue
        return curves

    def _fit(self, curves):
        """Give the axes limits that hold these curves; frames drawn before do not count."""
        self._artists.fit(curves)
        self._frames = {}

    def _paint(self):
        """Put the curve on a copy of the frame: all that does not move, drawn once and kept."""
        key = self._title.get_text(), self._artists.gradient_ax.get_title()
        if key not in self._frames:
            self.figure.canvas.draw()
            self._frames[key] = self.figure.canvas.copy_from_bbox(self.figure.bbox)
        self.figure.canvas.restore_region(self._frames[key])
        for artist in self._artists.moving:
            self.figure.draw_artist(artist)

    def _draw(self):
        self.curve = self._measure(self.values)
        if not self._artists.hold(self.curve):  # between the combinations that were tried
            self._curves.append(self.curve)
            self._fit(self._curves)
        self._artists.show(self.curve)
        self._paint()
        self._caption = curve_title(self.fn, self.values)
        self.figure.summary = f"{self._caption}: {self.curve.describe()}".replace("\n", " ")
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
        name = self._title.get_text()
        self._title.set_text(self._caption)
        self._paint()
        picture, metadata = self.figure.bundle()
        self._frames.popitem()
        self._title.set_text(name)
        return {**super()._repr_mimebundle_(**kwargs), **picture}, metadata


class _Image(ipywidgets.Image):
    """An image whose tooltip is its text alternative.

    ipywidgets 8.1 fails in the browser when an Image has a tooltip but no description:
    https://github.com/jupyter-widgets/ipywidgets/issues/3860
    """

    description = traitlets.Unicode("").tag(sync=True)


def _controls(fn, sliders):
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):  # not callable, or a builtin: gradient_curve knows more
        parameters = {}
    takes_any = not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    defaults.setdefault("grad_output", 1.0)
    controls = {}
    for name, range_ in sliders.items():
        if name in ("x", "points", "kinks"):
            raise TypeError(
                f"{name!r} is a setting of the picture: give fn's parameter another name"
            )
        if name not in defaults and not takes_any:
            raise TypeError(
                f"{fn_name(fn)} has no parameter {name!r} to slide, "
                f"it takes {', '.join(parameters)}"
            )
        controls[name] = _control(name, range_, defaults.get(name, inspect.Parameter.empty))
    return controls


def _control(name, range_, default):
    if isinstance(range_, tuple) and len(range_) >= 2 and not range_[0] < range_[1]:
        raise ValueError(f"{name}={range_} is an empty range: it needs (min, max) with min < max")
    if isinstance(range_, tuple) and len(range_) == 3 and not range_[2] > 0:
        raise ValueError(f"{name}={range_} never moves: its step needs to be more than 0")
    if isinstance(range_, list) and not range_:
        raise ValueError(f"{name}=[] leaves nothing to choose from")
    control = None
    if isinstance(range_, (tuple, list, bool)):
        control = interactive.widget_from_abbrev(range_)
    if control is None:
        raise TypeError(
            f"{name}={range_!r} makes no control: it needs (min, max), (min, max, step), "
            "a list of choices, True or False"
        )
    control.description = name
    control.style.description_width = "initial"
    if isinstance(range_, tuple):
        control.layout.width = f"{CSS_DPI * 6}px"  # a default slider has fewer pixels than steps
        control.layout.max_width = "100%"
    if default is not inspect.Parameter.empty and default is not None:
        try:
            _move(control, name, default)
        except ValueError as error:
            raise ValueError(
                f"the default of a parameter does not fit its control: {error}"
            ) from None
    return control


def _move(control, name, value):
    try:
        control.value = value
    except traitlets.TraitError as error:
        raise ValueError(f"{name} cannot be {value!r}: {error}") from None
    if control.value != value:  # sliders stop at their ends without a word
        raise ValueError(f"{name} needs to be from {control.min} to {control.max}, got {value!r}")


def _positions(control, many):
    """All choices of a control, or that many places along its slider, with both ends."""
    if isinstance(control, ipywidgets.Checkbox):
        return [False, True]
    if isinstance(control, ipywidgets.Dropdown):
        return list(control.options)
    steps = round((control.max - control.min) / control.step)
    places = {round(steps * i / (many - 1)) for i in range(many)}
    return [min(control.min + place * control.step, control.max) for place in sorted(places)]
