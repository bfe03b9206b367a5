"""The playground without a browser: texts typed in Python, sliders and the picture that follow."""

import asyncio

import pytest
import torch
from read_strokes import read_strokes
from stored_titles import width_of_title

from helpers.curves import gradient_curve
from helpers.explore.controls import positions
from lessons import playground as module
from lessons.playground import EXAMPLES, FORMULA, Playground

X = (-3.0, 3.0)


@pytest.fixture(scope="module")
def made():
    return Playground()


@pytest.fixture
def playground(made):
    """As it is at the start, but quicker than a new one."""
    made.examples[0].click()
    made.sliders["a"].value = 1.0
    return made


def typed(playground, formula, gradient=""):
    playground.gradient.value = gradient
    playground.formula.value = formula
    return playground


def same_curve(one, other):
    return all(
        torch.equal(getattr(one, name).nan_to_num(9), getattr(other, name).nan_to_num(9))
        for name in ("x", "y", "grad", "slope_left", "slope_right")
    )


def shown(playground):
    return read_strokes(playground.picture)


def test_it_starts_with_the_first_example():
    playground = Playground()
    assert playground.formula.value == EXAMPLES[0].formula == playground.typed.formula
    assert playground.summary.startswith("y = x * sigmoid(a * x), a=1: value -0.278 to 2.86")
    assert playground.picture.summary == playground.summary and playground.message.value == ""
    assert same_curve(playground.curve, gradient_curve(lambda x: x * torch.sigmoid(1.0 * x), X))


def test_what_is_typed_is_drawn(playground):
    before = shown(playground)
    typed(playground, "clamp(x, -1, 1)")
    assert same_curve(playground.curve, gradient_curve(torch.clamp, X, min=-1, max=1))
    assert playground.summary.startswith("y = clamp(x, -1, 1): value -1 to 1, gradient 1 from")
    assert playground.picture.summary == playground.summary and shown(playground) != before
    assert playground.figure.get_suptitle() == "y = clamp(x, -1, 1)"


def test_free_names_get_sliders_that_move_the_curve(playground):
    typed(playground, "clamp(round(x / s), -4, top) * s", "top * x")
    assert list(playground.sliders) == ["s", "top"]
    assert playground.rows.children == tuple(playground.sliders.values())
    assert [row.description for row in playground.rows.children] == ["s", "top"]
    playground.sliders["s"].value = 0.5
    playground.sliders["top"].value = 2.0
    assert playground.curve.y.unique().tolist() == [-2, -1.5, -1, -0.5, 0, 0.5, 1]
    assert torch.equal(playground.curve.grad, 2 * playground.curve.x)
    assert "s=0.5, top=2:" in playground.summary == playground.picture.summary


def test_a_name_keeps_its_value_while_the_formula_changes(playground):
    playground.sliders["a"].value = -1.5
    slider = playground.sliders["a"]
    typed(playground, "b * x")
    assert list(playground.sliders) == ["b"] and playground.rows.children == (
        playground.sliders["b"],
    )
    typed(playground, "a * x")
    assert playground.sliders["a"] is slider and playground.curve.grad[0] == -1.5


def test_a_gradient_of_your_own_takes_the_place_of_autograds(playground):
    typed(playground, "round(x)", "1")
    assert playground.curve.disagreement() == [X]
    assert playground.curve.grad.unique().tolist() == [1]
    assert playground.summary.startswith("y = round(x), gradient 1: ")
    playground.gradient.value = " "
    assert playground.curve.grad.unique().tolist() == [0] and playground.curve.disagreement() == []


HALF = {
    "half typed": ("x * sigmoid(", "has to follow <code>(</code>"),
    "no such function": ("softmex(x)", "there is no elementwise function"),
    "not elementwise": ("softmax(x)", "has to depend on its own x alone"),
    "torch refuses it": ("x // 2", "derivative for aten::floor_divide"),
    "no graph": ("x.detach()", "is not connected to x"),
    "a condition": ("x > 0", "a comparison"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", HALF)
def test_a_formula_that_cannot_be_shown_leaves_the_picture_and_says_why(playground, case):
    text, says = HALF[case]
    typed(playground, "a * x")
    before, summary = shown(playground), playground.summary
    typed(playground, text)
    assert says in playground.message.value and "the last formula that worked" in (
        playground.message.value
    )
    assert "?." not in playground.message.value, "two marks end the sentence"
    assert 'role="status"' in playground.message.value, "an alert would interrupt who types"
    assert (shown(playground), playground.summary) == (before, summary)

    playground.sliders["a"].value = 0.5  # moves what is shown, and the line stays
    assert playground.curve.grad[0] == 0.5 and says in playground.message.value
    typed(playground, "a * x**2")
    assert playground.message.value == ""


def test_a_setting_that_cannot_be_shown_says_why_until_one_can(playground):
    typed(playground, "sin(100 * k * x)")
    playground.sliders["k"].value = 1.9
    assert "changes too fast to be drawn" in playground.message.value
    assert "points" not in playground.message.value, "nobody can choose their number here"
    playground.sliders["k"].value = 0.1
    assert playground.message.value == ""


def test_an_error_of_another_kind_is_shown_with_its_name(playground, monkeypatch):
    def fails(**values):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(playground.drawing, "show", fails)
    typed(playground, "2 * x")
    assert "ZeroDivisionError: planted" in playground.message.value


@pytest.mark.slow
def test_an_example_is_one_click_away(playground):
    assert len(playground.examples) == len(EXAMPLES)
    for button, example in zip(playground.examples, EXAMPLES, strict=True):
        typed(playground, "half *", "2")
        button.click()
        assert (playground.formula.value, playground.gradient.value) == example
        assert playground.typed == example and playground.message.value == ""
        assert playground.rows.children == tuple(playground.sliders.values())
        assert playground.summary.startswith(f"y = {example.caption}, a=1: ")


@pytest.mark.slow
def test_axes_hold_what_the_sliders_reach_and_stand_still_meanwhile(playground):
    typed(playground, "a * x")
    limits = [ax.axis() for ax in playground.figure.axes]
    assert limits[0][2] < -6 and limits[0][3] > 6
    for a in (-2.0, 0.3, 2.0):
        playground.sliders["a"].value = a
        assert [ax.axis() for ax in playground.figure.axes] == limits
    typed(playground, "x")
    assert playground.figure.axes[0].get_ylim()[1] < 4, "the limits of another formula"


def test_axes_grow_for_what_no_end_of_a_slider_reaches(playground):
    typed(playground, "x / a")
    playground.sliders["a"].value = 0.1
    assert playground.figure.axes[0].get_ylim()[1] > 30


def test_a_long_formula_gets_room_for_its_title(playground):
    before = playground.figure.axes[0].get_position().y1
    typed(
        playground, "clamp(round(x / first) * first, -4, 3) + clamp(round(x / second), -4, 3) * a"
    )
    assert len(playground.figure.get_suptitle().splitlines()) == 1
    assert playground.figure.axes[0].get_position().y1 == pytest.approx(before, abs=0.01)
    typed(playground, playground.formula.value + " + sigmoid(x)")
    assert len(playground.figure.get_suptitle().splitlines()) == 2
    assert playground.figure.axes[0].get_position().y1 < before - 0.04
    typed(playground, "x")
    assert playground.figure.axes[0].get_position().y1 == pytest.approx(before, abs=0.01)


def test_the_same_formula_gives_the_same_picture(playground):
    first = shown(playground)
    for k in (5, 0):
        playground.examples[k].click()
    assert shown(playground) == first == shown(Playground())


def test_typing_shows_no_slider_for_each_letter_of_a_name(playground, monkeypatch):
    monkeypatch.setattr(module, "QUIET", 0.02)

    async def type_it():
        seen = []
        for end in range(5, 9):
            playground.formula.value = "x * wide"[:end]
            seen.append([row.description for row in playground.rows.children])
        assert seen == [["a"]] * 4
        assert playground.typed.names == ("wide",), "the picture does not wait"
        while playground.rows.children[0].description == "a":
            await asyncio.sleep(0.005)
        return [row.description for row in playground.rows.children]

    assert asyncio.run(asyncio.wait_for(type_it(), 60)) == ["wide"]


def test_its_output_has_a_picture_with_the_values_in_its_title(playground):
    playground.sliders["a"].value = 0.5
    data, metadata = playground._repr_mimebundle_()
    assert data["text/plain"] == playground.summary == metadata["image/png"]["alt"]
    assert data["image/png"] in playground.picture.stored.value
    assert playground.figure.get_suptitle() == "y = x * sigmoid(a * x)"
    with_two_digits = width_of_title(playground)
    playground.sliders["a"].value = 2.0
    assert width_of_title(playground) < with_two_digits - 10


@pytest.mark.slow
def test_a_page_on_which_nobody_can_type_gets_the_examples():
    explorer = Playground().with_examples()
    assert explorer.summary == Playground().summary, "recording compares it with what is stored"
    assert positions(explorer.sliders[FORMULA]) == list(EXAMPLES)
    for example in EXAMPLES:
        explorer.set(**{FORMULA: example, "a": 0.5})
        values = gradient_curve(example.function(a=0.5), X)
        assert same_curve(explorer.curve, values)
    assert explorer.sliders["a"].min == -2 and explorer.sliders["a"].max == 2
