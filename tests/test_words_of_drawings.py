"""What each drawing says: drawings.toml has the sentences."""

import importlib

import pytest
from test_drawings import MADE

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
    made = {each for make, _ in MADE.values() for each in type(make()).__mro__}
    assert ours - made == {BackwardDrawing}, "which has tests of its own"
    assert MADE.keys() == SAID.keys()


@pytest.mark.parametrize("name", MADE)
def test_what_a_drawing_says_at_first_at_both_ends_and_where_it_turns(name):
    make, sliders = MADE[name]
    places = {key: positions(control(key, range_)) for key, range_ in sliders.items()}
    ends = {
        "first": {},
        "lowest": {key: values[0] for key, values in places.items()},
        "highest": {key: values[-1] for key, values in places.items()},
    }
    drawing, said = make(), SAID[name]
    assert [values for values, _ in said[:3]] == [*ends]
    for values, words in said:
        assert words in drawing.show(**(ends[values] if isinstance(values, str) else values)), (
            values
        )
