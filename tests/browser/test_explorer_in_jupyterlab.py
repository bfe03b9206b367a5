"""Explorers and questions in a real JupyterLab, used as a learner does: by keyboard and mouse."""

import re

import pytest

from tools.notebooks import SETUP

from .lab import EXPLORER, wait_until
from .notebook_page import FOLDED, OVERLAPS, SCROLLS, STORED_WIDTH

# Together they have every kind of widget and of control. notebook_pictures.py moves all explorers.
NOTEBOOKS = [
    "00_start_here.ipynb",
    "01_parameter_or_variable.ipynb",
    "15_surrogate_gradients.ipynb",
]
FRAGILE = """
from helpers.explore.explorer import explore

def fragile(x, step=1.0):
    if step < 0.5:
        raise ValueError("step is too small")
    return x * step

explore(fragile, step=(0.1, 2.0, 0.1))
"""
STEEPER = """
from helpers.explore.explorer import explore

def steeper(x, slope=1.0):
    return x * slope

explore(steeper, slope=(0.0, 2.0, 0.05), tries={"slope": [0.25, 2.0]})
"""
# Settings whose place on a slider is no exact number for the page: it computes 4.500000000000002.
AWKWARD = """
from helpers.explore.explorer import explore
from lessons.start_here.symptom_search import SymptomSearch

def shifted(x, start=4.5, width=1.0):
    return width * x - start

awkward = explore(shifted, point=0.3, start=(-3.75, 5.75, 0.25), width=(0.125, 3.0, 0.125))
awkward
"""
SENT = """() => {
  const {kernel} = window.jupyterapp.shell.currentWidget.sessionContext.session;
  window.sent = [];
  kernel.anyMessage.connect((_, {msg, direction}) => {
    const state = msg.content.data?.state;
    if (direction === 'send' && 'value' in (state ?? {})) window.sent.push(state.value);
  });
}"""
ASKED = """
from lessons.asking.prediction import Prediction

Prediction("Is it?", {"no": "It is.", "yes": "Yes.", "maybe": "Surely."}, answer="yes")
"""
HAS_FOCUS = "element => element === document.activeElement"
ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_pictures_are_stored_widgets_are_shown_and_controls_move(lab, open_notebook, name):
    opened = open_notebook(lab.shorten(name))
    exploring = opened.cells_that_explore()
    seen = [cell for cell in exploring if cell.locator(FOLDED).count() == 0]
    for cell in seen:  # not run yet
        image = cell.locator(".jp-OutputArea img")
        assert image.evaluate(STORED_WIDTH) == 2 * image.bounding_box()["width"]
    assert len(exploring) - len(seen) == len(opened.folded(EXPLORER)), "a picture that spoils"
    assert opened.complaints() == []

    assert opened.everything_wrong() == []
    for cell in exploring:
        assert cell.get_by_role("slider").or_(cell.get_by_role("combobox")).count(), "not shown"
    assert opened.folded() == [], "what has just run is hidden"


def test_a_reloaded_page_shows_what_its_reader_has_seen(lab, open_notebook):
    shortened = lab.shorten("15_surrogate_gradients.ipynb", [SETUP, "stairs-explorer"])
    # alone, because a reloaded page may open its notebook a second time
    opened = open_notebook(shortened, alone=True)
    assert opened.folded() == ["stairs-explorer"]
    shown = "".join(opened.panel.locator(FOLDED).all_inner_texts())
    assert shown.strip() == "", "JupyterLab shows the first line of an answer"
    opened.run()
    (explorer,) = opened.explorers()
    name = explorer.first_slider()
    assert explorer.press(name, "End")
    text = explorer.text
    opened.reload()
    assert opened.folded() == [], "JupyterLab folds again what its reader has seen"
    (explorer,) = opened.explorers()
    assert explorer.text == text
    pixels = explorer.pixels()
    assert explorer.press(name, "Home"), "the kernel does not answer"
    assert explorer.text != text and explorer.pixels() != pixels
    assert explorer.press(name, "End") and explorer.pixels() == pixels


def test_a_drag_ends_at_the_last_value_and_a_button_at_its_own(open_cells):
    opened = open_cells(STEEPER)
    opened.run()
    (explorer,) = opened.explorers()
    assert explorer.shown("slope") == "1.00", "no button was clicked"
    assert explorer.press("slope", "Home")
    opened.drag(explorer.slider("slope"), distance=400)
    assert explorer.comes_to_agree()
    value, dragged = float(explorer.shown("slope")), explorer.pixels()
    assert value > 0, "the mouse did not reach the slider"
    # it is the picture of the last value, and not of one on the way
    assert explorer.press("slope", "ArrowRight")
    assert explorer.pixels() != dragged
    assert explorer.press("slope", "ArrowLeft")
    assert float(explorer.shown("slope")) == value
    assert explorer.pixels() == dragged

    for text, shown in (("0.25", "0.25"), ("2", "2.00")):
        button = explorer.box.get_by_role("button", name=text, exact=True)
        button.focus()
        button.press("Enter")
        assert explorer.comes_to_agree() and explorer.shown("slope") == shown
        assert explorer.pixels() != dragged
    assert opened.complaints() == []


def test_a_page_sends_no_value_that_nobody_chose(open_cells):
    # The kernel would hear of it only after the cells that moved the slider, and move it back.
    opened = open_cells(
        AWKWARD, "awkward.set(start=5.25)", "import time; time.sleep(1)", "awkward.set(start=-1.0)"
    )
    opened.page.evaluate(SENT)
    opened.run()
    (explorer,) = opened.explorers()
    assert explorer.comes_to_agree() and explorer.shown("start") == "-1.00"
    assert opened.page.evaluate("window.sent") == []
    assert explorer.press("start", "ArrowRight")
    assert opened.page.evaluate("window.sent.length") == 1, "nothing is listened to"


def test_in_a_narrow_window_all_is_seen_and_in_a_narrower_one_panels_stand_below_one_another(
    open_cells,
):
    opened = open_cells(AWKWARD, "SymptomSearch()")
    opened.run()
    (explorer,) = opened.explorers()
    search = opened.panel.locator(".widget-vbox:has(> .widget-textarea)")
    search.wait_for()
    picture, beside = explorer.box.locator("> .strokes"), explorer.picture.bounding_box()
    opened.page.set_viewport_size({"width": 800, "height": 900})
    assert not any(box.evaluate(SCROLLS) for box in (explorer.box, picture, search))
    assert explorer.box.evaluate(OVERLAPS) == []
    explorer.box.evaluate("box => (box.style.width = '360px')")
    below = lambda: explorer.picture.bounding_box()["height"] > 1.5 * beside["height"]  # noqa: E731
    assert wait_until(below, seconds=10), "the panels do not stand one below the other"
    assert not any(box.evaluate(SCROLLS) for box in (explorer.box, picture))
    assert explorer.box.evaluate(OVERLAPS) == []


def test_error_in_a_callback_is_shown_until_it_is_gone(open_cells):
    opened = open_cells(FRAGILE)
    opened.run()
    assert opened.complaints() == []
    explorer, alert = opened.explorers()[0], opened.page.get_by_role("alert")
    assert alert.count() == 0
    picture = explorer.pixels()

    explorer.slider("step").press("Home")
    alert.wait_for()
    assert "ValueError: step is too small" in alert.inner_text()
    red, green, blue = map(
        int, re.findall(r"\d+", alert.evaluate("element => getComputedStyle(element).color"))
    )
    assert red > 150 > 80 > max(green, blue), "not red"
    below = explorer.picture.bounding_box()
    assert alert.bounding_box()["y"] >= below["y"] + below["height"]
    assert explorer.pixels() == picture, "the last good picture should stay"

    assert explorer.press("step", "End")
    assert alert.count() == 0


def test_a_question_is_answered_and_keeps_its_keys(open_cells):
    opened = open_cells(ASKED, ASKED.replace("Is it?", "Is it so?"), "after = 1")
    opened.run()
    first, second = opened.panel.locator(".widget-vbox:has(> .widget-radio)").all()
    press, options = opened.page.keyboard.press, first.get_by_role("radio").all()
    explanation = first.get_by_role("status")

    def chosen(question):
        return [option.is_checked() for option in question.get_by_role("radio").all()]

    assert not any(chosen(first)), "answered before anyone was asked"
    assert explanation.count() == 0
    options[0].focus()
    active = opened.page.evaluate(ACTIVE)
    for key, at, said in (
        ("Space", 0, "✗ It is."),
        ("ArrowDown", 1, "✓ Yes."),
        ("ArrowRight", 2, "✗ Surely."),
        ("ArrowDown", 0, "✗ It is."),
        ("ArrowUp", 2, "✗ Surely."),
    ):
        press(key)
        assert options[at].evaluate(HAS_FOCUS), key
        assert wait_until(lambda said=said: explanation.all_inner_texts() == [said]), key
        assert chosen(first) == [at == k for k in range(3)], key
    assert opened.page.evaluate(ACTIVE) == active, "JupyterLab went to another cell"
    assert not any(chosen(second)), "the other question was answered, too"
    options[1].click()
    assert wait_until(lambda: explanation.inner_text() == "✓ Yes."), "the mouse says otherwise"

    press("Tab")  # and on to the next question
    assert second.get_by_role("radio").first.evaluate(HAS_FOCUS)
    press("ArrowDown")
    assert wait_until(lambda: chosen(second) == [False, True, False])
    assert chosen(first) == [False, True, False]
    prompt = opened.panel.locator(".jp-OutputPrompt").nth(1)
    before = prompt.inner_text()
    press("Control+Enter")  # other keys still reach JupyterLab
    assert wait_until(lambda: prompt.count() and prompt.inner_text() != before), "it did not run"
    assert wait_until(lambda: chosen(second) == [False, True, False]), "asked again, it forgot"
    assert wait_until(lambda: opened.complaints() == [])
