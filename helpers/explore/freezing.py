"""Explorers and pictures for a page without a kernel: what they show at each setting."""

import base64
import itertools
import json
import math
import zlib

import ipywidgets
import numpy as np

from autograd_surprises.show.live_picture import LivePicture
from autograd_surprises.show.picture import Picture
from helpers.explore.callbacks import error_line
from helpers.explore.controls import positions, stands_beside
from helpers.explore.explorer import STILL_SHOWN, Explorer
from helpers.explore.player import PlayableSlider
from helpers.explore.tries import what_it_sets

LARGEST = 400_000  # bytes of one frozen explorer, as JSON
SETTINGS = 1_000  # more of them would take half a minute to record
FEWEST = 3  # values of a slider: its ends and its middle


def freeze(explorer: Explorer) -> dict[str, object]:
    """All that a page needs to slide the explorer without a kernel, as a dict for JSON.

    `showFrozen` in strokes.js shows it. Sliders keep as many of their values as fit into 400 kB,
    both ends, the value that is shown and those of `tries` among them. A setting that raises keeps
    its error. The explorer shows what it showed before, its axes may have grown. Raises
    ValueError if the controls have too many settings to record.

    >>> from helpers.explore.explorer import explore
    >>> frozen = freeze(explore(torch.nn.functional.elu, alpha=(0.0, 2.0, 0.5)))
    >>> frozen["controls"][0]["values"]
    ['0.00', '0.50', '1.00', '1.50', '2.00']
    """
    sliders = explorer.sliders.values()
    most = max((len(positions(slider)) for slider in sliders), default=1)
    while (count := math.prod(len(positions(slider, most)) for slider in sliders)) > SETTINGS:
        if most <= FEWEST:
            raise ValueError(
                f"too many choices to freeze: {count} settings, but at most {SETTINGS} are "
                "recorded: leave out a control, or shorten a menu"
            )
        most = max(FEWEST, int(0.9 * most))
    while True:
        values = {
            name: _kept(slider, [explorer.shown[name], *_tried(explorer, name)], most)
            for name, slider in explorer.sliders.items()
        }
        kept = None
        while kept != explorer.kept:  # if the axes have grown, the first pictures are others now
            kept, frozen = explorer.kept, _recorded(explorer, values)
        size = len(json.dumps(frozen))
        if size <= LARGEST or most == FEWEST:
            return frozen
        thinned = sum(len(some) > FEWEST for some in values.values())
        most = max(FEWEST, int(0.97 * most * (LARGEST / size) ** (1 / max(1, thinned))))


def freeze_picture(figure: Picture) -> dict:
    """A picture without controls, in the form that `freeze` returns.

    >>> from helpers.curves import plot_gradient_curve
    >>> freeze_picture(plot_gradient_curve(torch.round))["controls"]
    []
    """
    picture = figure.live or LivePicture(figure)
    with picture.hold_sync(), picture.one_table():
        picture.refresh()
    frames = {_frame_of(picture): 0}
    return _state(picture, [], [], [picture.moving], frames, [[0, picture.summary]])


def _tried(explorer, name):
    tries = itertools.chain(*explorer.tries.values())
    return [some.values[name] for some in tries if name in some.values]


def _kept(control, wanted, most):
    """At most so many values of a slider, and the wanted ones for those that read alike."""
    values = positions(control, most)
    added = {value for value in wanted if value not in values}
    if not added:
        return values
    alike = {_read(control, value) for value in added}
    return sorted([*(value for value in values if _read(control, value) not in alike), *added])


def _recorded(explorer, values):
    picture, before, frames = explorer.picture, explorer.shown, {}
    settings = list(itertools.product(*values.values()))
    moving, texts = [b""] * len(settings), [None] * len(settings)
    with picture.hold_sync(), picture.one_table():  # nobody has to see it
        for i in _quickest_order(values, explorer.drawing.light):
            try:
                explorer.show_at(**dict(zip(values, settings[i], strict=True)))
            except Exception as error:
                texts[i] = [-1, f"{error_line(error)}\n{STILL_SHOWN}"]
            else:
                moving[i] = picture.moving
                texts[i] = [frames.setdefault(_frame_of(picture), len(frames)), picture.summary]
        explorer.show_at(**before)
    controls = [
        _control(explorer.sliders[name], name, values[name], before[name]) for name in values
    ]
    places = list(values)
    tries = [
        {
            "label": label,
            "options": [
                [
                    text,
                    what_it_sets(settings),
                    {places.index(each): values[each].index(to) for each, to in settings.items()},
                ]
                for text, settings in row
            ],
        }
        for label, row in explorer.tries.items()
    ]
    return _state(picture, controls, tries, moving, frames, texts)


def _state(picture, controls, tries, moving, frames, texts):
    return {
        "controls": controls,
        "tries": tries,
        "beside": stands_beside(picture.size),
        "handles": picture.handles,
        "styles": picture.styles,
        "glyphs": picture.glyphs,
        "moving": _packed(_differences(b"".join(moving))),
        "ends": _packed(np.cumsum([len(each) // 2 for each in moving], dtype="<i4").tobytes()),
        "frames": _packed(f"[{','.join(frames)}]".encode()),
        "texts": _packed(json.dumps(texts).encode()),
    }


def _quickest_order(values, light):
    """The number of each setting, those with the same curve one after the other."""
    counts = [len(some) for some in values.values()]
    slowest_first = sorted(range(len(counts)), key=lambda k: list(values)[k] in light)
    return np.arange(math.prod(counts)).reshape(counts).transpose(slowest_first).ravel()


def _frame_of(picture):
    """What does not move, as JSON."""
    about = {name: getattr(picture, name) for name in ("size", "axes", "parts", "words")}
    return json.dumps({**about, "frame": base64.b64encode(picture.frame).decode()})


def _control(control, name, values, now):
    about = {"name": name, "start": values.index(now)}
    if isinstance(control, ipywidgets.Checkbox):
        return {**about, "kind": "tick", "values": ["False", "True"]}
    if isinstance(control, ipywidgets.Dropdown):
        return {**about, "kind": "choice", "values": list(control._options_labels)}
    texts = [_read(control, value) for value in values]
    about |= {"kind": "slider", "values": texts, "numbers": list(map(float, values))}
    if isinstance(control, PlayableSlider):
        about["interval"] = control.interval
    return about


def _read(slider, value):
    return format(value, slider.readout_format)


def _differences(strokes: bytes):
    """Each number as its difference from the one two places before, which packs better."""
    numbers = np.frombuffer(strokes, "<i2")
    return np.concatenate([numbers[:2], numbers[2:] - numbers[:-2]]).astype("<i2").tobytes()


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode()
