"""The notebooks in a real JupyterLab, used as a learner uses them: by keyboard and by mouse."""

import io
import itertools
import re

import pytest
from PIL import Image, ImageChops

from tools.notebooks import notebook_files

from .lab import EXPLORER, FOLDED, STORED_WIDTH, WIDTH, wait_until

pytestmark = pytest.mark.browser

NOTEBOOKS = [path.name for path in notebook_files()]
assert NOTEBOOKS, "the browser tests found no notebooks"

FRAGILE = """
from helpers.explore.explorer import explore

def fragile(x, step=1.0):
    if step < 0.5:
        raise ValueError("step is too small")
    return x * step

explore(fragile, step=(0.1, 2.0, 0.1)).fit()
"""
STEEPER = """
from helpers.explore.explorer import explore

def steeper(x, slope=1.0):
    return x * slope

explore(steeper, slope=(0.0, 2.0)).fit()
"""
TRIED = """
from helpers.explore.explorer import explore

def steeper(x, slope=1.0):
    return x * slope

explore(steeper, slope=(0.0, 2.0, 0.25), tries={"slope": [0.25, 2.0]}).fit()
"""
# Settings whose place on a slider is no exact number for the page: it computes 4.500000000000002.
AWKWARD = """
from helpers.explore.explorer import explore
from lessons.symptom_search import SymptomSearch

def shifted(x, start=4.5, width=1.0):
    return width * x - start

awkward = explore(shifted, point=0.3, start=(-3.75, 5.75, 0.25), width=(0.125, 3.0, 0.125)).fit()
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
SCROLLS = "box => box.scrollWidth > box.clientWidth"
TRACK = ".widget-slider .slider"
ASKED = """
from lessons.prediction import predict

predict("Is it?", {"no": "It is.", "yes": "Yes.", "maybe": "Surely."}, answer="yes")
"""


def screenshot(explorer):
    return Image.open(io.BytesIO(explorer.picture.screenshot())).convert("RGB")


def strips(picture):
    """The parts that hold tick labels, axis labels and the legend, but no curve."""
    width, height = picture.size
    return [
        picture.crop((0, height * 82 // 100, width, height)),  # below both panels
        picture.crop((0, 0, width * 4 // 100, height)),  # left of both
    ]


def difference(one, other):
    """The largest difference between two pictures in any pixel and colour, from 0 to 255."""
    return max(high for _, high in ImageChops.difference(one, other).getextrema())


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_pictures_are_stored_widgets_are_shown_and_controls_move(lab, open_notebook, name):
    opened = open_notebook(lab.shorten(name))
    exploring = opened.cells_that_explore()
    assert exploring, "a notebook has at least one explorer"
    seen = [cell for cell in exploring if cell.locator(FOLDED).count() == 0]
    for cell in seen:  # not run yet
        image = cell.locator(".jp-OutputArea img")
        assert image.evaluate(STORED_WIDTH) == 2 * image.bounding_box()["width"]
    assert len(exploring) - len(seen) == len(opened.folded(EXPLORER)), "a picture that spoils"
    assert opened.complaints() == []

    assert opened.everything_wrong() == []
    for cell in exploring:
        assert cell.get_by_role("slider").or_(cell.get_by_role("combobox")).count(), "not shown"
    assert len(opened.explorers()) >= len(exploring)


def test_a_stored_answer_is_unfolded_by_running_its_cell(lab, open_notebook):
    opened = open_notebook(lab.shorten("06_surrogate_gradients.ipynb"), alone=True)
    assert {"stairs-explorer", "reach-explorer"} <= {*opened.folded()}
    shown = "".join(opened.panel.locator(FOLDED).all_inner_texts())
    assert shown.strip() == "", "JupyterLab shows the first line of an answer"
    opened.run()
    assert opened.folded() == [], "what has just run is hidden"
    opened.reload()
    assert opened.folded() == [], "JupyterLab folds again what its reader has seen"


def test_a_button_moves_the_controls_to_its_setting(open_cells):
    opened = open_cells(TRIED)
    opened.run()
    (explorer,) = opened.explorers()
    assert explorer.shown("slope") == "1.00", "no button was clicked"
    picture = explorer.pixels()
    for text, shown in (("0.25", "0.25"), ("2", "2.00")):
        button = explorer.box.get_by_role("button", name=text, exact=True)
        button.focus()
        button.press("Enter")
        assert wait_until(lambda shown=shown: explorer.shown("slope") == shown)
        assert wait_until(explorer.agrees)
        assert explorer.pixels() != picture
    below = explorer.picture.bounding_box()
    assert button.bounding_box()["y"] >= below["y"] + below["height"]
    assert opened.complaints() == []


def test_picture_follows_the_slider(open_cells):
    opened = open_cells(STEEPER)
    opened.run()
    explorer = opened.explorers()[0]
    name = explorer.first_slider()

    assert explorer.picture.bounding_box()["width"] == 800
    with opened.pixel_ratio(2):
        assert wait_until(lambda: explorer.picture.evaluate(WIDTH) == 1600), "not sharp when zoomed"
    assert wait_until(lambda: explorer.picture.evaluate(WIDTH) == 800)
    described = opened.page.get_by_role("img", name=re.compile(rf"^\w+, {name}=[^:]*: value "))
    assert described.count() == 1, "a screen reader finds no such picture"

    values, texts, pictures = [], [], []
    for key in ("Home", "ArrowRight", "ArrowLeft", "End"):
        assert explorer.press(name, key), "the text says another value than the slider"
        values.append(float(explorer.shown(name)))
        texts.append(explorer.text)
        pictures.append(screenshot(explorer))
    low, higher, again, high = values
    assert low == again < higher < high
    assert texts[0] == texts[2] and len(set(texts)) == 3
    assert difference(pictures[0], pictures[2]) == 0, "the same value gave another picture"
    for one, other in itertools.combinations([0, 1, 3], 2):
        assert difference(pictures[one], pictures[other]) > 100, "the picture did not change"
    for before, after in zip(strips(pictures[0]), strips(pictures[3]), strict=True):
        assert len(before.getcolors(1 << 20)) > 10, "nothing is written here"
        assert difference(before, after) == 0, "something outside the panels moved"
    assert opened.complaints() == []


def test_fast_drag_ends_at_the_last_value(open_cells):
    opened = open_cells(STEEPER)
    opened.run()
    explorer = opened.explorers()[0]
    name = explorer.first_slider()
    assert explorer.press(name, "Home")
    low = float(explorer.shown(name))
    opened.drag(explorer.slider(name), distance=400)

    assert wait_until(explorer.agrees), "a backlog built up"
    value, dragged = float(explorer.shown(name)), explorer.pixels()
    assert value > low, "the mouse did not reach the slider"
    # it is the picture of the last value, and not of one on the way
    assert explorer.press(name, "ArrowRight")
    assert explorer.pixels() != dragged
    assert explorer.press(name, "ArrowLeft")
    assert float(explorer.shown(name)) == value
    assert explorer.pixels() == dragged
    assert opened.complaints() == []


def test_a_page_sends_no_value_that_nobody_chose(open_cells):
    # The kernel would hear of it only after the cells that moved the slider, and move it back.
    opened = open_cells(
        AWKWARD, "awkward.set(start=5.25)", "import time; time.sleep(1)", "awkward.set(start=-1.0)"
    )
    opened.page.evaluate(SENT)
    opened.run_all()
    (explorer,) = opened.explorers()
    assert wait_until(lambda: explorer.shown("start") == "-1.00" and explorer.agrees())
    assert opened.page.evaluate("window.sent") == []
    assert explorer.press("start", "ArrowRight")
    assert opened.page.evaluate("window.sent.length") == 1, "nothing is listened to"


def test_in_a_narrow_window_all_is_seen_and_in_a_narrower_one_only_the_picture_scrolls(open_cells):
    opened = open_cells(AWKWARD, "SymptomSearch()")
    opened.run_all()
    (explorer,) = opened.explorers()
    search = opened.panel.locator(".widget-vbox:has(> .widget-textarea)")
    search.wait_for()
    starts = {round(slider.bounding_box()["x"]) for slider in explorer.box.locator(TRACK).all()}
    assert len(starts) == 1, "the sliders do not start below one another"
    size = opened.page.viewport_size
    opened.page.set_viewport_size({**size, "width": 800})
    picture = explorer.box.locator("> .strokes")
    assert not any(box.evaluate(SCROLLS) for box in (explorer.box, picture, search))
    explorer.box.evaluate("box => (box.style.width = '310px')")
    assert wait_until(lambda: picture.evaluate(SCROLLS))
    assert not explorer.box.evaluate(SCROLLS)
    opened.page.set_viewport_size(size)


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
    alert.wait_for(state="detached")


def test_prediction_is_answered_and_explained(open_cells):
    opened = open_cells(ASKED)
    opened.run()
    group = opened.panel.locator(".widget-vbox:has(> .widget-radio)").first
    options, explanation = group.get_by_role("radio").all(), group.get_by_role("status")
    assert len(options) >= 2
    assert not any(option.is_checked() for option in options), "answered before anyone was asked"
    assert explanation.count() == 0

    def answer(option, choose):
        before = explanation.all_inner_texts()
        choose()
        assert wait_until(lambda: explanation.all_inner_texts() not in ([], before))
        assert option.is_checked()
        return explanation.inner_text()

    options[0].focus()
    said = [answer(options[0], lambda: opened.page.keyboard.press("Space"))]
    for option in options[1:]:
        said.append(answer(option, lambda: opened.page.keyboard.press("ArrowDown")))
    assert [answer(option, option.click) for option in options] == said, "the mouse says otherwise"

    assert sorted(line[0] for line in said) == ["✓"] + ["✗"] * (len(said) - 1)
    assert len(set(said)) == len(said), "each option has its own explanation"
    assert opened.complaints() == []


HAS_FOCUS = "element => element === document.activeElement"
ACTIVE = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"


def test_arrow_keys_stay_within_a_question(open_cells):
    opened = open_cells(ASKED, ASKED.replace("Is it?", "Is it so?"), "after = 1")
    opened.run_all()
    first, second = opened.panel.locator(".widget-vbox:has(> .widget-radio)").all()
    press, options = opened.page.keyboard.press, first.get_by_role("radio").all()

    def chosen(question):
        return [option.is_checked() for option in question.get_by_role("radio").all()]

    options[0].click()
    active = opened.page.evaluate(ACTIVE)
    for key, at in (("ArrowDown", 1), ("ArrowRight", 2), ("ArrowDown", 0), ("ArrowUp", 2)):
        press(key)
        assert options[at].evaluate(HAS_FOCUS), key
        assert wait_until(lambda at=at: chosen(first) == [at == k for k in range(3)]), key
    assert wait_until(lambda: first.get_by_role("status").inner_text() == "✗ Surely.")
    assert opened.page.evaluate(ACTIVE) == active, "JupyterLab went to another cell"
    assert not any(chosen(second)), "the other question was answered, too"

    press("Tab")  # and on to the next question
    assert second.get_by_role("radio").first.evaluate(HAS_FOCUS)
    press("ArrowDown")
    assert wait_until(lambda: chosen(second) == [False, True, False])
    assert chosen(first) == [False, False, True]
    press("Control+Enter")  # other keys still reach JupyterLab
    assert wait_until(lambda: not any(chosen(second))), "the cell did not run again"
    assert wait_until(lambda: opened.complaints() == [])


def test_each_planted_fault_is_seen(open_cells):
    """This proves that the tests above can fail."""
    opened = open_cells(
        "import sys; print('planted: stderr', file=sys.stderr)",
        "from IPython.display import HTML\n"
        "HTML('<script>setTimeout(() => { throw new Error(\"planted: page\") })</script>')",
        "import ipywidgets\nipywidgets.DOMWidget(_view_module='planted', _view_name='Planted')",
        "view = {'model_id': 'planted', 'version_major': 2, 'version_minor': 0}\n"
        "display({'application/vnd.jupyter.widget-view+json': view}, raw=True)",
        FRAGILE,
        "stiff = explore(lambda x, size=1.0: size * x, size=(0.0, 2.0))\n"
        "show = stiff.drawing.show\n"
        "stiff.drawing.show = lambda size: show(size=1.0)\n"
        "stiff",
        "deaf = explore(lambda x, loudness=1.0: loudness * x, loudness=(0.0, 2.0))\n"
        "deaf.sliders['loudness'].unobserve_all('value')\n"
        "deaf",
        "raise ValueError('planted: cell')",
        "predict('in the cell after it', {})",
        alone=True,
    )
    wrong = opened.everything_wrong(patience=0.3)  # what is broken does not mend itself
    for planted in (
        "planted: stderr",
        "on the page: planted: page",
        "Click to show javascript error",
        "Error displaying widget",
        "ValueError: step is too small",
        "the picture stands still when size moves",
        "loudness shows 2.00, but the text says",
        "ValueError: planted: cell",
        "did not run",
    ):
        assert any(planted in line for line in wrong), f"{planted!r} was not seen in {wrong}"
