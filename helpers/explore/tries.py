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
    """The rows of buttons, by their labels. `{"width": [0.25, 1.0]}` has a button for each value,
    `{("low", "high"): {"a narrow range": (-1.0, 1.0)}}` a caption for each, and may set several
    controls at once. All that have a caption stand in one row.

    Raises TypeError for anything else and for a name that is not a control, ValueError for a value
    that a control cannot take, or that is between two steps of a slider.

    >>> from helpers.explore.controls import control
    >>> read_tries({"bits": [2, 8]}, {"bits": control("bits", (2, 8))})
    {'try: bits': [Try(text='2', values={'bits': 2}), Try(text='8', values={'bits': 8})]}
    """
    if not isinstance(tries, Mapping):
        raise TypeError(f"tries needs a dict, such as {{'width': [0.25, 1.0]}}, got {tries!r}")
    start = {name: control.value for name, control in controls.items()}
    rows = {}
    for key, values in tries.items():
        names = key if isinstance(key, tuple) else (key,)
        if not isinstance(values, (list, tuple, Mapping)):
            raise TypeError(
                f"tries needs a list of values for {key!r}, or a dict with a caption for each, "
                f"got {values!r}"
            )
        captions = list(values) if isinstance(values, Mapping) else None
        label = "try:" if captions else f"try: {', '.join(map(str, names))}"
        row = rows.setdefault(label, [])
        for k, value in enumerate(values.values() if captions else values):
            several = value if isinstance(key, tuple) else (value,)
            if not isinstance(several, (list, tuple)) or len(several) != len(names):
                raise TypeError(
                    f"tries needs {len(names)} values at once for {key!r}, got {value!r}"
                )
            settings = dict(zip(names, several, strict=True))
            move_all(controls, settings)  # raises for what it cannot take
            _check_steps(controls, settings)
            text = captions[k] if captions else ", ".join(map(_read, several))
            row.append(Try(text, settings))
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
    label: str, row: list[Try], chosen: Callable[[dict[str, object]], None]
) -> ipywidgets.HBox:
    """The buttons of a row; a click calls `chosen` with the values.

    >>> row = row_of_tries("try: bits", [Try("2", {"bits": 2})], print)
    >>> row.children[1].click()
    {'bits': 2}
    """
    buttons = []
    for text, values in row:
        button = ipywidgets.Button(
            description=text, tooltip=what_it_sets(values), layout={"width": "auto"}
        )
        button.on_click(lambda _, values=values: chosen(values))
        buttons.append(button)
    name = ipywidgets.Label(label, layout={"margin": "2px 8px 2px 2px"})
    return ipywidgets.HBox([name, *buttons], layout={"flex_flow": "row wrap"})


def what_it_sets(values: Mapping[str, object]) -> str:
    """The settings of a button in a line.

    >>> what_it_sets({"w": 2.3, "estimator": "straight-through"})
    'w = 2.3, estimator = straight-through'
    """
    return ", ".join(f"{name} = {_read(value)}" for name, value in values.items())
