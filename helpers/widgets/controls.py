"""Sliders, menus and checkboxes from short descriptions."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping

import ipywidgets
import traitlets
from ipywidgets.widgets.interaction import interactive

from autograd_surprises.show.picture import CSS_DPI


def control(name: str, range_: object, default: object = inspect.Parameter.empty):
    """A slider for (min, max) or (min, max, step), a menu for a list, a checkbox for a bool.

    It starts at `default`. Raises ValueError or TypeError for a description that makes none.

    >>> control("bits", (2, 8), 4).value
    4
    """
    if isinstance(range_, tuple) and len(range_) >= 2 and not range_[0] < range_[1]:
        raise ValueError(f"{name}={range_} is an empty range: it needs (min, max) with min < max")
    if isinstance(range_, tuple) and len(range_) == 3 and not range_[2] > 0:
        raise ValueError(f"{name}={range_} never moves: its step needs to be more than 0")
    if isinstance(range_, list) and not range_:
        raise ValueError(f"{name}=[] leaves nothing to choose from")
    made = None
    if isinstance(range_, (tuple, list, bool)):
        made = interactive.widget_from_abbrev(range_)
    if made is None:
        raise TypeError(
            f"{name}={range_!r} makes no control: it needs (min, max), (min, max, step), "
            "a list of choices, True or False"
        )
    made.description = name
    made.style.description_width = "initial"
    if isinstance(range_, tuple):
        made.layout.width = f"{CSS_DPI * 6}px"  # a default slider has fewer pixels than steps
        made.layout.max_width = "100%"
    if isinstance(made, ipywidgets.FloatSlider):
        digits = max(2, _decimals(made.min), _decimals(made.step))  # 0.125 is not to read 0.13
        made.readout_format = f".{digits}f"
    if default is not inspect.Parameter.empty and default is not None:
        try:
            move(made, name, default)
        except ValueError as error:
            raise ValueError(
                f"the default of a parameter does not fit its control: {error}"
            ) from None
    return made


def _decimals(number):
    return len(f"{number:.6f}".rstrip("0").partition(".")[2])


def move(control: ipywidgets.Widget, name: str, value: object):
    """Set a control. Raises ValueError for a value that it cannot take."""
    try:
        control.value = value
    except traitlets.TraitError as error:
        raise ValueError(f"{name} cannot be {value!r}: {error}") from None
    if control.value != value:  # sliders stop at their ends without a word
        raise ValueError(f"{name} needs to be from {control.min} to {control.max}, got {value!r}")


def reachable(controls: Mapping[str, ipywidgets.Widget]) -> Iterator[dict]:
    """Some 65 combinations of values, or fewer, spread over all that the controls can be set to."""
    many = max(2, int(65 ** (1 / max(1, len(controls)))))
    places = [_positions(control, min(many, 17)) for control in controls.values()]
    for values in itertools.product(*places):
        yield dict(zip(controls, values, strict=True))


def _positions(control, many):
    """All choices of a control, or that many places along its slider, with both ends."""
    if isinstance(control, ipywidgets.Checkbox):
        return [False, True]
    if isinstance(control, ipywidgets.Dropdown):
        return list(control.options)
    steps = round((control.max - control.min) / control.step)
    places = {round(steps * i / (many - 1)) for i in range(many)}
    return [min(control.min + place * control.step, control.max) for place in sorted(places)]
