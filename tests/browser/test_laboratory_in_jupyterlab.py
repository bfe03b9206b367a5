"""The laboratory in a real JupyterLab: it learns, and the kernel still answers."""

import re

import pytest

from .lab import PIXELS, wait_until

# The first fifth of this training takes a second, the rest over a minute: on the busiest machine,
# no test comes too late to stop it.
SLOW = """
import time
from lessons.digits import Run, WAYS
from lessons.laboratory import Laboratory

def unhurried(x, scale, low, high):
    time.sleep(0.0032 if laboratory.done < 0.2 else 0.05)
    return WAYS["straight-through"].quantize(x, scale, low, high)

def fails_late(x, scale, low, high):
    if laboratory.done > 0.3:
        raise ValueError("planted: a scale of 0")
    return WAYS["straight-through"].quantize(x, scale, low, high)

laboratory = Laboratory({**WAYS, "unhurried": Run(unhurried), "fails late": Run(fails_late)})
laboratory.set(method="unhurried")
laboratory
"""
WORD = "print('the kernel answers at', laboratory.progress.value, laboratory.is_training)"
# Records each text of the picture from now on, with the progress bar and the picture at that time.
# A test that looked from time to time could miss states.
RECORD = (
    "canvas => { const pixels = "
    + PIXELS
    + """, states = window.states = [];
  const record = async () => {
    const bar = document.querySelector('.widget-hprogress .progress-bar');
    const text = canvas.ariaLabel, done = parseFloat(bar.style.width);
    states.push({text, done, picture: await pixels(canvas)});
  };
  new MutationObserver(record).observe(canvas, {attributeFilter: ['aria-label']});
}"""
)
CUT_OFF = "name => name.scrollWidth > name.clientWidth"
OUTPUT = """i => window.jupyterapp.shell.currentWidget.content.model.cells.get(i)
  .outputs.toJSON().map(output => output.text ?? '').join('')"""


class LaboratoryView:
    """The laboratory on the page, and the cell below it."""

    def __init__(self, opened):
        self.opened, self.page = opened, opened.page
        self.picture = opened.panel.locator(".strokes > canvas")
        self.train = opened.panel.get_by_role("button", name="Train", exact=True)
        self.stop = opened.panel.get_by_role("button", name="Stop", exact=True)
        self.bar = opened.panel.locator(".widget-hprogress .progress-bar")
        self.run_cell(0)
        self.train.wait_for(timeout=900_000)

    @property
    def text(self):
        return self.picture.get_attribute("aria-label")

    def done(self):
        """How far the progress bar is, in percent."""
        return self.bar.evaluate("bar => parseFloat(bar.style.width)")

    def record(self):
        """Keep what the page shows from now on, for `states`."""
        self.picture.evaluate(RECORD)

    def states(self):
        """What the page has shown during a training: each text, with progress and picture."""
        states = self.page.evaluate("window.states")
        return [state for state in states if "% trained, loss" in state["text"]]

    def choose(self, **values):
        for label, value in values.items():
            menu = self.opened.panel.get_by_label(label.replace("_", " "), exact=True)
            menu.select_option(value)

    def run_cell(self, i):
        self.opened.start([i])

    def output(self, i):
        return self.page.evaluate(OUTPUT, i)

    def says(self, words):
        assert wait_until(lambda: re.search(words, self.text)), self.text


@pytest.fixture
def laboratory(open_cells):
    """Opens a notebook that shows a laboratory, with these cells below it."""

    def open_laboratory(*cells):
        return LaboratoryView(open_cells(SLOW, *cells))

    return open_laboratory


def test_it_learns_stops_and_learns_again_while_the_kernel_answers(laboratory):
    view = laboratory()
    opened = view.opened
    assert "nothing trained yet" in view.text
    assert view.train.is_enabled() and view.stop.is_disabled()
    names = opened.panel.locator(".widget-dropdown label").all()
    assert len(names) == 3 and not any(name.evaluate(CUT_OFF) for name in names)

    view.record()
    view.train.click()
    assert wait_until(lambda: view.done() > 15 and len(view.states()) > 3)  # both stay true
    assert view.train.is_disabled() and view.stop.is_enabled()
    states = view.states()
    for state in states:
        percent = int(re.search(r"(\d+) % trained", state["text"])[1])
        assert percent <= state["done"] < percent + 1.01, "text and progress bar disagree"
    texts, pictures = ({state[kind] for state in states} for kind in ("text", "picture"))
    assert 3 <= len(texts) <= len(pictures), "the picture stands still"

    view.choose(bits="8", method="learned step")  # for the next one
    done = view.done()
    view.stop.click()
    view.says("^2 bits, unhurried, learning rate 0.2, stopped after .*read right;")
    assert wait_until(lambda: view.train.is_enabled() and view.stop.is_disabled())
    assert 15 < view.done() < done + 10, "it takes long to stop"

    view.train.click()
    view.says("^8 bits, learned step, learning rate 0.2: 9[6-9].* read right;")
    assert view.done() == 100
    assert opened.page.get_by_role("img", name=re.compile("^8 bits, learned step")).count() == 1
    assert opened.complaints() == []


def test_another_cell_runs_while_it_trains(laboratory):
    view = laboratory(WORD)
    view.train.click()
    assert wait_until(lambda: view.done() > 5)
    view.run_cell(1)
    assert wait_until(lambda: "True" in view.output(1)), "the cell had to wait"
    assert "% trained" in view.text and view.done() < 90
    done = float(view.output(1).split()[4])
    assert 0.05 < done < 0.9
    view.stop.click()
    view.says("stopped after")
    assert view.opened.complaints() == []


def test_stop_reaches_a_cell_that_trains(laboratory):
    view = laboratory("await laboratory.train()\nprint(laboratory.summary)")
    view.run_cell(1)
    assert wait_until(lambda: view.done() > 5)
    view.stop.click()
    view.says("stopped after")
    assert wait_until(lambda: "stopped after" in view.output(1))
    assert view.opened.complaints() == []


def test_an_error_is_shown_until_the_next_training(laboratory):
    view = laboratory()
    opened, alert = view.opened, view.page.get_by_role("alert")
    assert alert.count() == 0
    view.choose(method="fails late")
    view.train.click()
    alert.wait_for()
    assert "ValueError: planted: a scale of 0" in alert.inner_text()
    view.says("an error ended the training after 30 %")
    below = view.picture.bounding_box()
    assert alert.bounding_box()["y"] >= below["y"] + below["height"]
    assert wait_until(lambda: any("planted: a scale of 0" in line for line in opened.complaints()))

    view.choose(method="floating point")
    view.train.click()
    alert.wait_for(state="detached")
    view.says("^floating point, learning rate 0.2: 9.* read right;")
