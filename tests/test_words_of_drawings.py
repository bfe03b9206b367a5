"""What each drawing says and draws: drawings.toml has the sentences and the places."""

import importlib

import pytest
from shapes import compare, shapes
from test_drawings import MADE, WITH_HANDLES

from autograd_surprises.facts.toml_data import tomllib
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
            compare(shapes(drawing), wanted)
