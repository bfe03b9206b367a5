"""What each drawing says and draws: drawings.toml has the sentences and the places."""

import importlib
import re

import pytest
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from matplotlib.text import Text
from test_drawings import MADE, WITH_HANDLES

from autograd_surprises.facts.toml_data import tomllib
from autograd_surprises.show.colours import GREEN, RED
from helpers.explore.controls import control, positions
from helpers.explore.drawings.backward_run import BackwardDrawing
from helpers.explore.drawings.drawing import Drawing
from tools.notebooks import ROOT

SAID = tomllib.loads((ROOT / "tests" / "drawings.toml").read_text(encoding="utf-8"))
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")  # torch's own, in jvp


def every_drawing(kind=Drawing):
    return {each for one in kind.__subclasses__() for each in (one, *every_drawing(one))}


def test_each_drawing_of_helpers_and_lessons_is_tried():
    for file in (*ROOT.glob("helpers/**/*.py"), *ROOT.glob("lessons/**/*.py")):
        importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    ours = {each for each in every_drawing() if each.__module__.startswith(("helpers", "lessons"))}
    drawings = {name: make() for name, (make, _) in MADE.items()}
    made = {each for drawing in drawings.values() for each in type(drawing).__mro__}
    assert ours - made == {BackwardDrawing}, "which has tests of its own"
    assert MADE.keys() == SAID.keys()
    assert [name for name, drawing in drawings.items() if drawing.handles] == WITH_HANDLES


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?|nan")


def shape(part):
    """One artist in words: of many points or cells the first, the middle and the last."""
    if isinstance(part, Text):
        words = " ".join(part.get_text().split())
        name = {GREEN: "green ", RED: "red "}.get(part.get_color(), "") + words
        numbers = part.get_position() if words else ()
    elif isinstance(part, Line2D):
        name = f"line {part.get_linestyle()} {part.get_marker()}"
        points = part.get_xydata().tolist()
        middle = len(points) // 2
        numbers = sum(points if len(points) < 10 else points[:: middle or 1], [])
    elif isinstance(part, AxesImage):
        name, cells = "cells", part.get_array().ravel().tolist()
        numbers = cells[:: max(1, len(cells) // 12)]
    else:
        name = "circle" if isinstance(part, Circle) else "box"
        numbers = [part.get_radius()] if isinstance(part, Circle) else part.get_bbox().bounds
    return " ".join([name, *(f"{number:.3g}" for number in numbers)]) if numbers else name


def shapes(drawing):
    return "; ".join(shape(part) for part in drawing.moving if part.get_visible())


def numbers_of(text):
    return [float(number) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("name", MADE)
def test_what_a_drawing_says_and_draws_at_first_at_both_ends_and_where_it_turns(name):
    make, sliders = MADE[name]
    places = {key: positions(control(key, range_)) for key, range_ in sliders.items()}
    ends = {
        "first": {},
        "lowest": {key: values[0] for key, values in places.items()},
        "highest": {key: values[-1] for key, values in places.items()},
    }
    drawing, said = make(), SAID[name]
    assert [values for values, *_ in said[:3]] == [*ends]
    for values, words, *drawn in said:
        shown = drawing.show(**(ends[values] if isinstance(values, str) else values))
        assert shown == words or shown.endswith(f": {words}") and "e+" in shown, values
        for wanted in drawn:
            found = shapes(drawing)
            assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted), values
            near = pytest.approx(numbers_of(wanted), rel=0.01, abs=1e-6, nan_ok=True)
            assert numbers_of(found) == near, values
