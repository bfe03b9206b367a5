"""Strokes on a page without JupyterLab: by finger, on reversed axes, and frozen."""

import re

import torch

from autograd_surprises.show.colours import RED
from autograd_surprises.show.findings import badge, finding_html
from autograd_surprises.show.live_picture import LivePicture
from autograd_surprises.show.picture import Picture
from helpers.curves import plot_gallery
from helpers.explore import Playable, explore, freeze

from .lab import finger_on, picture_of, wait_until

SHOW = """([tables, shown]) => {
  const numbers = text => new Int16Array(
    Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);
  const {frame, moving} = shown;
  document.body.style.height = '4000px';
  window.dragged = [];
  const picture = window.strokes.StrokePicture;
  const place = document.body.appendChild(document.createElement('div'));
  window.picture = new picture(place, shown.size, values => window.dragged.push(values));
  window.picture.show({...tables, ...shown, frame: numbers(frame), moving: numbers(moving)});
}"""
PLACE_OF_HANDLE = """() => {
  const {left, top} = window.picture.canvas.getBoundingClientRect();
  const [x, y] = window.picture.handles[0];
  return [left + x, top + y];
}"""
# Where a point of the picture is on a narrow page, in the first part that shows it.
PLACE_IN_A_PART = """([x, y]) => {
  const {canvas, flow, scale} = window.picture, {left, top} = canvas.getBoundingClientRect();
  const shows = ({part: [px, py, width, height]}) =>
    px < x && x < px + width && py < y && y < py + height;
  const found = flow.placed.find(shows);
  const onCanvas = [found.left + x - found.part[0], found.top + y - found.part[1]];
  return [left + onCanvas[0] * scale, top + onCanvas[1] * scale];
}"""
SMALLEST_TEXT = """() => {
  const sizes = window.picture.shown.styles.filter(({kind}) => kind === 'text');
  return Math.min(...sizes.map(({size}) => size)) * window.picture.scale;
}"""
MOST_SIDE_BY_SIDE = """() => {
  const lines = new Map();
  for (const {part: [, , width, height], top} of window.picture.flow.placed)
    if (width > 100 && height > 100) lines.set(top, (lines.get(top) ?? 0) + 1);
  return Math.max(...lines.values());
}"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PHONE = {"width": 390, "height": 844}
FREEZE = """async frozen => {
  window.picture = await window.strokes.showFrozen(document.body, frozen);
}"""
# A test that asks for what is shown may come too late.
WATCH = """() => {
  const readout = document.querySelector('output'), see = () => window.seen.push(readout.value);
  window.seen = [];
  new MutationObserver(see).observe(readout, {childList: true, characterData: true, subtree: true});
}"""

# Live, with a kernel of which one signal is all there is.
LIVE = """([tables, shown]) => {
  const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const view = text => new DataView(bytes(text).buffer), {frame, moving} = shown;
  const state = {...tables, ...shown, frame: view(frame), moving: view(moving)};
  const signal = {connect: hear => (window.say = said => hear(null, said)), disconnect() {}};
  const widget_manager = {kernel: {iopubMessage: signal}};
  const model = {get: name => state[name], on() {}, widget_manager};
  window.strokes.default.render({model, el: document.body});
}"""
SPOKEN_AND_SHOWN = """slider =>
  [slider.getAttribute('aria-valuetext'), slider.closest('label').querySelector('output').value]"""


def test_a_finger_reads_out_drags_the_point_and_scrolls_elsewhere(open_empty):
    page, explorer = open_empty(), explore(torch.relu, point=0.3)
    page.evaluate(SHOW, picture_of(explorer.picture))
    x, y = page.evaluate(PLACE_OF_HANDLE)
    about = explorer.picture.axes[0]
    (low, high), width = about["x"]["range"], about["box"][2]
    with finger_on(page) as finger:
        finger.tap(x + 80, y)
        status, said = page.get_by_role("status"), r"x = 1\.\d+, value 1\.\d+, gradient 1"
        assert wait_until(lambda: re.match(said, status.inner_text())), status.inner_text()

        finger.drag(x, y, 60, -200)
        assert wait_until(lambda: page.evaluate("window.dragged.length") >= 10)
        dragged = page.evaluate("window.dragged.at(-1).point")
        assert abs(dragged - (0.3 + 60 * (high - low) / width)) < 0.01
        assert page.evaluate("scrollY") == 0, "the page scrolled under the point"

        finger.drag(x + 80, y, 0, -200)
        assert wait_until(lambda: page.evaluate("scrollY") > 100), "the page did not scroll"
        assert page.evaluate("window.dragged.at(-1).point") == dragged


def on_a_phone(open_empty, picture):
    page = open_empty()
    page.set_viewport_size(PHONE)
    page.evaluate(SHOW, picture_of(picture))
    return page


def test_on_a_phone_panels_stand_below_one_another_and_can_be_dragged_and_read_out(open_empty):
    explorer = explore(lambda x, k=1.0: k * x.relu(), point=0.3, k=(0.5, 2.0))
    page = on_a_phone(open_empty, explorer.picture)
    assert page.evaluate(SMALLEST_TEXT) >= 11 and page.evaluate(SIDEWAYS) <= 0
    first, second = (middle_of(about) for about in explorer.picture.axes[:2])
    upper, lower = (page.evaluate(PLACE_IN_A_PART, [at["x"], at["y"]]) for at in (first, second))
    assert lower[1] - upper[1] > 200, "the panels are side by side"

    page.mouse.move(*lower)
    status = page.get_by_role("status").inner_text
    assert wait_until(lambda: status().startswith("x = "), seconds=5), "the panel is dead"
    number = float(re.match(r"x = (\S+),", status())[1])
    assert abs(number) < 0.05, "another place is read out"

    about, scale = explorer.picture.axes[0], page.evaluate("window.picture.scale")
    (low, high), width = about["x"]["range"], about["box"][2] * scale
    x, y = page.evaluate(PLACE_IN_A_PART, page.evaluate("window.picture.handles[0]"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 300)  # into the other panel
    dragged = page.evaluate("window.dragged.at(-1).point")
    assert abs(dragged - (0.3 + 60 * (high - low) / width)) < 0.02


def test_on_a_phone_a_gallery_has_fewer_columns(open_empty):
    names = ["relu", "abs", "sin", "cos", "exp", "tanh"]
    gallery = LivePicture(plot_gallery({name: getattr(torch, name) for name in names}, columns=3))
    gallery.refresh()
    page = on_a_phone(open_empty, gallery)
    assert 1 <= page.evaluate(MOST_SIDE_BY_SIDE) < 3
    assert page.evaluate(SMALLEST_TEXT) >= 11 and page.evaluate(SIDEWAYS) <= 0


def test_a_long_line_of_a_report_breaks_on_a_narrow_page(open_empty):
    page = open_empty()
    page.set_viewport_size({"width": 400, "height": 900})
    page.set_content(finding_html(badge("ZERO", RED), "weight", [("at", "y=" + "x" * 200)]))
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def shown_on(page, figure):
    """A page that shows only this figure: its canvas, its read-out and its axes."""
    picture = LivePicture(figure)
    picture.refresh()
    page.evaluate(SHOW, picture_of(picture))
    return page.locator("canvas"), page.get_by_role("status"), picture.axes


def middle_of(about):
    left, top, width, height = about["box"]
    return {"x": left + width / 2, "y": top + height / 2}


def test_of_a_few_functions_all_are_read_out_each_under_its_name(open_empty):
    curves = {"relu": torch.relu, "a: b": torch.square}
    canvas, status, axes = shown_on(open_empty(), plot_gallery(curves, x=(1, 3)))
    said = "x = 2; relu: value 2, gradient 1, slope 1; a: b: value 4, gradient 4, slope 4"
    for about in axes:
        canvas.hover(position=middle_of(about))
        assert status.inner_text() == said


def test_a_line_over_a_reversed_axis_is_read_out(open_empty):
    ax = Picture(4, 3).subplots()
    ax.plot([0, 1, 2], [0, 1, 4], gid="value")
    ax.set(xlabel="x", xlim=(2, 0))
    canvas, status, (about,) = shown_on(open_empty(), ax.figure)
    left, top, width, height = about["box"]
    canvas.hover(position={"x": left + width / 4, "y": top + height / 2})
    said = status.inner_text()
    x, value = map(float, re.fullmatch(r"x = (\S+), value (\S+)", said).groups())
    assert abs(x - 1.5) < 0.02 and abs(value - 2.5) < 0.05


def walk(x, steps=4):
    return x * steps


def test_a_frozen_slider_is_played_to_its_end(open_empty):
    page = open_empty()
    page.evaluate(FREEZE, freeze(explore(walk, steps=Playable(1, 4))))
    assert page.locator("output").inner_text() == "4", "it started by itself"
    page.evaluate(WATCH)
    # Both clicks at once: on a busy machine, a step would come between them.
    play = page.get_by_role("button", name="Play steps")
    play.evaluate("button => { button.click(); button.click() }")
    page.wait_for_timeout(600)
    assert page.evaluate("window.seen") == ["1"], "it did not pause"
    page.get_by_role("button", name="Play steps").click()
    assert wait_until(lambda: page.evaluate("window.seen.at(-1)") == "4"), "no end"
    page.get_by_role("button", name="Play steps").wait_for()  # it paused at the end
    assert page.evaluate("window.seen") == ["1", "2", "3", "4"]
    assert page.get_by_role("img", name=re.compile("^walk, steps=4: ")).count() == 1


def test_frozen_controls_stand_in_a_row_below_the_picture_and_say_their_values(open_empty):
    page = open_empty()
    page.evaluate(
        FREEZE, freeze(explore(lambda x, a, scale: a * scale * x, a=(0, 2), scale=(1, 3)))
    )
    sliders = page.get_by_role("slider").all()
    (upper,) = {slider.bounding_box()["y"] for slider in sliders}
    assert upper > page.get_by_role("img").bounding_box()["height"]
    for slider in sliders:
        spoken, shown = slider.evaluate(SPOKEN_AND_SHOWN)
        assert spoken == shown, "a screen reader hears another value"


def test_where_motion_is_reduced_a_frozen_slider_advances_by_one_stop(open_empty):
    page = open_empty(reduced_motion="reduce")
    page.evaluate(FREEZE, freeze(explore(walk, steps=Playable(1, 4))))
    advance = page.get_by_role("button", name="Advance steps")
    for steps in ("1", "2"):
        advance.click()
        assert page.locator("output").inner_text() == steps
    page.wait_for_timeout(600)
    assert page.locator("output").inner_text() == "2", "it went on by itself"


def test_a_button_of_a_frozen_explorer_moves_all_its_controls(open_empty):
    page = open_empty()
    tries = {("steps", "up"): [(2, False), (0, True)]}
    explorer = explore(lambda x, steps=4, up=True: x * steps, steps=(0, 4), up=True, tries=tries)
    page.evaluate(FREEZE, freeze(explorer))
    picture, tick = page.get_by_role("img"), page.get_by_role("checkbox")
    before = picture.get_attribute("aria-label")
    page.get_by_role("button", name="2, False").press("Enter")
    assert page.locator("output").first.inner_text() == "2" and not tick.is_checked()
    assert picture.get_attribute("aria-label") == page.get_by_role("status").last.inner_text()
    assert "steps=2, up=False" in picture.get_attribute("aria-label") != before
    page.get_by_role("button", name="0, True").press("Space")
    assert "steps=0, up=True" in picture.get_attribute("aria-label") and tick.is_checked()


def short(x, size=1):
    if size > 1:
        raise ValueError("too large")
    return size * x


def test_a_frozen_setting_that_raises_keeps_the_picture_and_says_so(open_empty):
    page = open_empty()
    page.evaluate(FREEZE, freeze(explore(short, size=(0, 2))))
    slider, picture = page.locator("input"), page.get_by_role("img", name=re.compile("^short, "))
    shown = picture.get_attribute("aria-label")
    slider.press("End")
    alert = page.get_by_role("alert")
    assert "ValueError: too large" in alert.inner_text()
    assert picture.get_attribute("aria-label") == shown
    slider.press("Home")
    assert alert.count() == 0 and "size=0" in picture.get_attribute("aria-label")


def test_the_last_message_of_a_kernel_is_heard(open_empty):
    """Another page may have restarted it. What the new one says first is sometimes lost."""
    page, say = open_empty(), "type => window.say({header: {msg_type: type}})"
    page.evaluate(LIVE, picture_of(explore(walk).picture))
    page.evaluate(say, "status")
    assert page.get_by_role("alert").count() == 0
    page.evaluate(say, "shutdown_reply")
    assert "kernel has stopped" in page.get_by_role("alert").inner_text()
