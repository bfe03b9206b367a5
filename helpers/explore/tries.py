"""Buttons for settings that are worth seeing."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import ipywidgets

from helpers.explore.controls import move_all, nearest


class Try(NamedTuple):
    """What a button says, and what it sets, by name."""

    text: str
    values: dict[str, object]


def read_tries(
    tries: Mapping[object, list], controls: Mapping[str, ipywidgets.Widget]
) -> dict[str, list[Try]]:
    """The rows of buttons, by what they set: `{"width": [0.25, 1.0]}`, or several controls at once,
    `{("low", "high"): [(-1.0, 1.0), (-2.0, 2.0)]}`.

    Raises TypeError for anything else and for a name that is not a control, ValueError for a value
    that a control cannot take, or that is between two steps of a slider.

    >>> from helpers.explore.controls import control
    >>> read_tries({"bits": [2, 8]}, {"bits": control("bits", (2, 8))})
    {'bits': [Try(text='2', values={'bits': 2}), Try(text='8', values={'bits': 8})]}
    """
    if not isinstance(tries, Mapping):
        raise TypeError(f"tries needs a dict, such as {{'width': [0.25, 1.0]}}, got {tries!r}")
    start = {name: control.value for name, control in controls.items()}
    rows = {}
    for key, values in tries.items():
        names = key if isinstance(key, tuple) else (key,)
        if not isinstance(values, (list, tuple)):
            raise TypeError(f"tries needs a list of values for {key!r}, got {values!r}")
        rows[", ".join(map(str, names))] = row = []
        for value in values:
            several = value if isinstance(key, tuple) else (value,)
            if not isinstance(several, (list, tuple)) or len(several) != len(names):
                raise TypeError(
                    f"tries needs {len(names)} values at once for {key!r}, got {value!r}"
                )
            settings = dict(zip(names, several, strict=True))
            move_all(controls, settings)  # raises for what it cannot take
            _check_steps(controls, settings)
            row.append(Try(", ".join(map(_read, several)), settings))
    move_all(controls, start)
    return rows


def _check_steps(controls, settings):
    """A page would move a slider on to its next step."""
    for name, value in settings.items():
        slider = controls[name]
        if hasattr(slider, "step") and not math.isclose(
            nearest(slider, value), value, abs_tol=1e-9
        ):
            raise ValueError(
                f"{name} goes from {slider.min:g} to {slider.max:g} in steps of {slider.step:g}, "
                f"and never reaches {value!r}: try {nearest(slider, value):g}, or give it another "
                "step"
            )


def _read(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def row_of_tries(
    name: str, row: list[Try], chosen: Callable[[dict[str, object]], None]
) -> ipywidgets.HBox:
    """The buttons of a row; a click calls `chosen` with the values.

    >>> row = row_of_tries("bits", [Try("2", {"bits": 2})], print)
    >>> row.children[1].click()
    {'bits': 2}
    """
    label = ipywidgets.Label(f"try: {name}", layout={"margin": "2px 8px 2px 2px"})
    buttons = []
    for text, values in row:
        button = ipywidgets.Button(
            description=text, tooltip=f"{name}: {text}", layout={"width": "auto"}
        )
        button.on_click(lambda _, values=values: chosen(values))
        buttons.append(button)
    return ipywidgets.HBox([label, *buttons], layout={"flex_flow": "row wrap"})
