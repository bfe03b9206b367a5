"""Sliders, menus and checkboxes from short descriptions."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real

import ipywidgets
import traitlets
from ipywidgets.widgets.interaction import interactive

from autograd_surprises.numerics import few_digits
from helpers.explore.player import Playable, PlayableSlider

SLIM, TALL = 620, 440  # pixels


def control(name: str, range_: object, default: object = None):
    """A slider for (min, max) or (min, max, step), a menu for a list, a checkbox for a bool.

    The list holds choices, or pairs of a label and a choice. `Playable(min, max)` makes a slider
    that can be played. A control starts at `default`, if there is one. Raises ValueError for a
    range without values to choose from or a default outside it, TypeError for anything else that
    does not describe a control.

    >>> control("bits", (2, 8), 4).value
    4
    """
    is_range = (
        isinstance(range_, tuple)
        and (len(range_) in (2, 3) or isinstance(range_, Playable))
        and all(isinstance(number, Real) for number in range_)
    )
    if not is_range and not isinstance(range_, (list, bool)):
        raise TypeError(
            f"{name} needs (min, max), (min, max, step) or Playable(min, max) for a slider, a list "
            f"of choices for a menu, or True or False for a checkbox; got {range_!r}"
        )
    if is_range and not (
        range_[0] < range_[1]
        and all(map(math.isfinite, range_))
        and all(step > 0 for step in range_[2:])
    ):
        raise ValueError(f"{name}={range_} needs finite numbers, min < max, and a step above 0")
    if range_ == []:
        raise ValueError(f"{name}=[] leaves nothing to choose from")
    if isinstance(range_, Playable):
        made = _playable_slider(name, range_)
    else:
        made = interactive.widget_from_abbrev(range_)
    if isinstance(made, ipywidgets.FloatSlider):
        made.close()
        made = QuietSlider(min=made.min, max=made.max, step=made.step, value=made.value)
    made.description = name
    made.style.description_width = "initial"  # as wide as the name
    made.layout.max_width = "calc(100% - 4px)"  # between its margins
    if is_range:  # a default slider has fewer pixels than steps
        made.layout.width, made.layout.flex = "auto", "1 1 230px"
        made.layout.max_width = "min(600px, 100% - 4px)"
    if isinstance(made, ipywidgets.Dropdown):
        made.layout.width = "max-content"  # or a long choice would be cut off
    if default is not None:
        try:
            move(made, name, default)
        except ValueError as error:
            raise ValueError(
                f"the default of a parameter does not fit its control: {error}"
            ) from None
    if isinstance(made, ipywidgets.FloatSlider):  # or 0.125 would read 0.13
        digits = max(2, *map(_decimals, (made.min, made.step, made.value)))
        made.readout_format = f".{digits}f"
    return made


def in_rows(controls: Sequence[ipywidgets.Widget], width: float) -> ipywidgets.Box:
    """The controls in equal columns, together so many pixels wide.

    >>> in_rows([control("bits", (2, 8))], 800).layout.max_width
    '800px'
    """
    columns = "repeat(auto-fit, minmax(min(230px, 100%), 1fr))"
    grid = {"display": "grid", "grid_template_columns": columns, "grid_gap": "0 12px"}
    box = ipywidgets.Box(controls, layout={**grid, "max_width": f"{width:g}px"})
    box.add_class("explorer-controls")
    return box


def stands_beside(size: Sequence[float]) -> bool:
    """Whether a picture of this width and height, in pixels, has its controls beside it: if they
    were below, nobody could see both ends.

    >>> stands_beside((600, 700)), stands_beside((800, 340))
    (True, False)
    """
    width, height = size
    return width <= SLIM and height > TALL


def _playable_slider(name, range_):
    if not all(isinstance(number, int) for number in range_):
        raise TypeError(f"{name}={range_} cannot be played: it needs whole numbers")
    low, high, step, interval = range_
    slider = PlayableSlider(min=low, max=high, step=step, value=high)
    slider.interval = interval
    return slider


def _on_page(value, slider):
    """A value as noUiSlider, the slider of the page, computes it from the place of its handle."""
    low, high = slider.min, slider.max
    share = 100 * slider.step / (high - low)
    away = value + abs(low) if low < 0 else value - low
    percent = round(100 * away / (high - low) / share) * share
    place = high if value >= high or percent >= 100 else percent * (high - low) / 100 + low
    return place if abs(place - value) < (high - low) / 1000 else value  # less than a pixel


def _in_kernel(value, slider):
    """The value that is meant: the page may say 4.500000000000002."""
    if value == _on_page(slider.value, slider):
        return slider.value
    meant = nearest(slider, value)
    return meant if abs(meant - value) < 1e-6 * slider.step else value


class QuietSlider(ipywidgets.FloatSlider):
    """A slider to which the page has nothing to object.

    A page sends back, unasked, each value that its slider computes otherwise, such as
    4.500000000000002 for 4.5. A kernel that runs cells hears of it too late: after the cells have
    moved the slider, it would go back. So the page gets the number that its slider computes.

    >>> QuietSlider(min=-3.75, max=5.75, step=0.25, value=4.5).get_state("value")
    {'value': 4.500000000000002}
    """

    value = traitlets.CFloat(0.0).tag(sync=True, to_json=_on_page, from_json=_in_kernel)


def _decimals(number):
    return max(0, -Decimal(few_digits(number, 6)).as_tuple().exponent)


def move(control: ipywidgets.Widget, name: str, value: object):
    """Set a control. Raises ValueError for a value that it cannot take.

    >>> move(control("bits", (2, 8)), "bits", 9)
    Traceback (most recent call last):
    ValueError: bits needs to be from 2 to 8, got 9
    """
    if hasattr(control, "max") and not (
        # sliders clip in silence, and read the text '1' as a number
        isinstance(value, Real) and control.min <= value <= control.max
    ):
        raise ValueError(f"{name} needs to be from {control.min} to {control.max}, got {value!r}")
    try:
        control.value = value
    except traitlets.TraitError as error:
        raise ValueError(f"{name} cannot be {value!r}: {error}") from None


def nearest(control: ipywidgets.Widget, value: float) -> float:
    """The value of a slider that is nearest to any number.

    >>> nearest(control("width", (0.0, 1.0, 0.25)), 0.6), nearest(control("width", (0, 2)), 9.0)
    (0.5, 2)
    """
    return _value_at(control, round((value - control.min) / control.step))


def _value_at(slider, steps):
    """So many steps from its minimum: -0.6, and not -0.5999999999999999."""
    value = round(slider.min + steps * slider.step, 12 - math.floor(math.log10(slider.step)))
    return max(slider.min, min(slider.max, value))


def move_all(controls: Mapping[str, ipywidgets.Widget], values: Mapping[str, object]):
    """Set several controls by name, or none of them if one cannot take its value.

    Raises TypeError for a name that is not a control, ValueError for a value it cannot take.

    >>> menu = control("bits", [8, 4, 2], 4)
    >>> move_all({"bits": menu}, {"bits": 2}); menu.value
    2
    """
    unknown = [name for name in values if name not in controls]
    if unknown:
        raise TypeError(f"no control {unknown[0]!r} here, only {', '.join(controls)}")
    before = {name: control.value for name, control in controls.items()}
    try:
        for name, value in values.items():
            move(controls[name], name, value)
    except Exception:
        for name, value in before.items():
            controls[name].value = value
        raise


def positions(control: ipywidgets.Widget, most: int | None = None) -> list:
    """All choices of a control; of a slider `most` evenly spread values, both ends included.

    >>> positions(control("width", (0.0, 1.0, 0.25)), most=3)
    [0.0, 0.5, 1.0]
    """
    if isinstance(control, ipywidgets.Checkbox):
        return [False, True]
    if isinstance(control, ipywidgets.Dropdown):
        return list(control._options_values)  # the options may be pairs of a label and a value
    steps = math.ceil((control.max - control.min) / control.step - 1e-9)
    most = min(most or steps + 1, steps + 1)
    places = {round(steps * i / (most - 1)) for i in range(most)}
    return [_value_at(control, place) for place in sorted(places)]
