"""A played slider in a real JupyterLab: by keyboard, and for readers who asked for less motion."""

import re

import pytest

from .lab import wait_until

WALK = """
from helpers.explore import Playable, explore

def walk(x, steps=4):
    return x * steps

explore(walk, steps=Playable(1, 4))
"""

# A test that asks for the readout may come too late.
WATCH = """readout => {
  window.seen = [];
  const see = () => window.seen.push(readout.innerText);
  new MutationObserver(see).observe(readout, {childList: true, characterData: true, subtree: true});
}"""


@pytest.fixture
def walk(open_cells):
    opened = open_cells(WALK)
    opened.run()
    opened.panel.get_by_role("slider").wait_for()
    return opened


def shows(panel, steps):
    readout = panel.locator(".widget-readout").inner_text()
    picture = panel.get_by_role("img", name=re.compile(f"^walk, steps={steps}: "))
    return readout == str(steps) and picture.count() == 1


def test_it_plays_when_pressed_to_the_end(walk):
    play = walk.panel.get_by_role("button", name="Play steps")
    assert shows(walk.panel, 4), "it started by itself"
    assert walk.panel.get_by_role("button", name=re.compile("Advance|^$")).count() == 0
    readout = walk.panel.locator(".widget-readout")
    readout.evaluate(WATCH)
    play.press("Enter")
    assert wait_until(lambda: readout.evaluate("() => window.seen.at(-1)") == "4"), "no end"
    assert readout.evaluate("() => window.seen") == ["1", "2", "3", "4"]
    play.wait_for()  # it paused at the end
    assert wait_until(lambda: shows(walk.panel, 4))
    assert walk.complaints() == []


def test_where_motion_is_reduced_a_press_is_one_step(walk):
    walk.page.emulate_media(reduced_motion="reduce")
    try:
        advance = walk.panel.get_by_role("button", name="Advance steps")
        advance.wait_for()
        assert walk.panel.get_by_role("button", name="Play steps").count() == 0
        for steps in (1, 2):
            advance.press("Enter")
            assert wait_until(lambda steps=steps: shows(walk.panel, steps)), steps
        walk.page.wait_for_timeout(600)
        assert shows(walk.panel, 2), "it went on by itself"
        assert walk.complaints() == []
    finally:
        walk.page.emulate_media(reduced_motion="no-preference")
