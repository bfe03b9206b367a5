"""Pictures on the page: in the colours of the theme, read out, and honest about their kernel."""

import json
import re

import pytest

from .lab import EXECUTED, STORED_WIDTH, finger_on, wait_until

pytestmark = pytest.mark.browser

PICTURES = [
    "import torch\n"
    "from autograd_surprises.show.graph_picture import plot_graph\n"
    "from helpers.curves import plot_gallery, plot_gradient_curve\n"
    "from helpers.explore import explore",
    "explorer = explore(lambda x, size=1.0: size * x, size=(0.0, 2.0))\nexplorer",
    "display(explorer)",
    "plot_gradient_curve(torch.round)",
    "plot_gallery({'round': torch.round, 'relu': torch.relu})",
    "x = torch.ones(3, requires_grad=True)\nplot_graph(x.exp().sum(), x=x)",
]
PAPER = """() => [...document.querySelectorAll('.jp-NotebookPanel .strokes > canvas')].map(canvas =>
  'rgb(' + canvas.getContext('2d').getImageData(2, 2, 1, 1).data.slice(0, 3).join(', ') + ')')"""
THEME_PAPER = """() => {
  const probe = document.body.appendChild(document.createElement('div'));
  probe.style.color = 'var(--jp-layout-color0)';
  const {color} = getComputedStyle(probe);
  probe.remove();
  return color;
}"""
SET_THEME = """theme => window.jupyterapp.commands
  .execute('apputils:change-theme', {theme}).then(() => theme)"""
# How many pixels differ from the paper in the row and in the column of this place.
CROSS = """(canvas, [x, y]) => {
  const {width, height} = canvas, ratio = width / canvas.clientWidth;
  const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
  const red = (i, j) => data[4 * (width * Math.round(j) + Math.round(i))];
  const drawn = (i, j) => red(i, j) !== red(2, 2);
  const count = (length, place) => Array.from({length}, (_, k) => drawn(...place(k)))
    .filter(Boolean).length;
  return [count(width, k => [k, y * ratio]), count(height, k => [x * ratio, k])];
}"""
ACTIVE_CELL = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"


@pytest.fixture
def opened(open_cells):
    opened = open_cells(*PICTURES)
    opened.run_all()
    assert opened.complaints() == []
    opened.panel.locator(".strokes > canvas").nth(4).wait_for()
    return opened


def test_pictures_follow_the_theme(opened):
    page = opened.page
    light = page.evaluate(THEME_PAPER)
    try:
        page.evaluate(SET_THEME, "JupyterLab Dark")
        # between the two style sheets the page has no colours at all
        assert wait_until(lambda: page.evaluate(THEME_PAPER) not in (light, "rgb(0, 0, 0)"))
        dark = page.evaluate(THEME_PAPER)
        assert wait_until(lambda: set(page.evaluate(PAPER)) == {dark}), page.evaluate(PAPER)
        images = opened.panel.locator(".jp-OutputArea-output img:visible")
        assert images.count() == 0, "an image keeps its colours in the dark"
    finally:
        page.evaluate(SET_THEME, "JupyterLab Light")
    assert wait_until(lambda: set(page.evaluate(PAPER)) == {light})
    assert opened.complaints() == []


def test_a_point_on_a_curve_is_dragged(open_cells):
    opened = open_cells(
        "import json\nfrom helpers.functions import round_ste\nfrom helpers.explore import explore",
        "explorer = explore(round_ste, x=(-2, 2), point=1.0)\nexplorer",
        "print(json.dumps(explorer.picture.axes[0]))",
    )
    opened.run_all()
    (explorer,) = opened.explorers()
    axes = json.loads(opened.panel.locator(".jp-OutputArea-output pre").last.inner_text())
    left, top, width, height = axes["box"]
    low, high = axes["y"]["range"]
    box, mouse = explorer.picture.bounding_box(), opened.page.mouse
    x, y = left + width * (1.0 + 2) / 4, top + height * (high - 1.0) / (high - low)
    mouse.move(box["x"] + x, box["y"] + y)
    mouse.down()
    mouse.move(box["x"] + x - width / 2, box["y"] + y, steps=5)
    mouse.up()
    assert wait_until(lambda: re.search(r"point=-(0.99|1|1.01),", explorer.text)), explorer.text
    assert wait_until(explorer.agrees)
    opened.panel.get_by_role("button", name="Step").click()
    assert wait_until(lambda: re.search(r"point=-1.(09|1|11),", explorer.text)), explorer.text
    assert opened.complaints() == []


# How far the notebook is scrolled.
SCROLLED = """() => document.querySelector(
  '.jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer').scrollTop"""


def test_a_finger_drags_the_point_scrolls_elsewhere_and_reads_out_with_a_tap(open_cells):
    opened = open_cells(
        "import json, torch\nfrom helpers.explore import explore",
        "explorer = explore(torch.relu, x=(-2, 2), point=1.0)\nexplorer",
        "print(json.dumps(explorer.picture.axes[0]))",
        "print('\\n' * 200)",
    )
    opened.run_all()
    (explorer,) = opened.explorers()
    axes = json.loads(opened.panel.locator("pre", has_text='"box"').last.inner_text())
    left, top, width, height = axes["box"]
    low, high = axes["y"]["range"]
    box, page = explorer.picture.bounding_box(), opened.page
    x = box["x"] + left + width * 3 / 4
    y = box["y"] + top + height * (high - 1.0) / (high - low)
    status = explorer.box.get_by_role("status").first
    with finger_on(page) as finger:
        finger.drag(x, y, width / 8, -60)
        assert wait_until(lambda: re.search(r"point=1.(49|5|51),", explorer.text)), explorer.text
        assert wait_until(explorer.agrees)
        page.evaluate(EXECUTED, "assert abs(explorer.values['point'] - 1.5) < 0.02")
        assert page.evaluate(SCROLLED) == 0, "the notebook scrolled under the point"

        finger.tap(x - width / 4, y)
        assert wait_until(lambda: status.inner_text()), "a tap reads nothing out"
        said = re.match(r"x = (\S+), value ", status.inner_text())
        assert abs(float(said[1])) < 0.05

        dragged = explorer.text
        finger.drag(x - width / 4, y, 0, -150)
        assert wait_until(lambda: page.evaluate(SCROLLED) > 50), "the notebook did not scroll"
        assert explorer.text == dragged
    assert opened.complaints() == []


def test_moves_are_made_where_cells_run(open_cells):
    opened = open_cells(
        "import threading\nfrom helpers.explore import explore\nthreads = set()",
        "def line(x, k=1.0):\n"
        "    threads.add(threading.current_thread().name)\n"
        "    return k * x\n"
        "explore(line, k=(0.0, 2.0)).fit()",
    )
    opened.run_all()
    (explorer,) = opened.explorers()
    assert explorer.press("k", "Home") and explorer.press("k", "End")
    opened.page.evaluate(EXECUTED, "assert threads == {'MainThread'}, threads")
    assert opened.complaints() == []


def test_numbers_are_read_out_by_pointer_and_keyboard(opened):
    explorer = opened.explorers()[0]
    status = explorer.box.get_by_role("status").first
    right = explorer.picture.bounding_box()["width"] * 0.75
    explorer.picture.hover(position={"x": right, "y": 150})
    said = r"^x = (\S+), value (\S+), gradient (\S+), slope (\S+)$"
    assert wait_until(lambda: re.match(said, status.inner_text())), status.inner_text()
    x, value, gradient, slope = map(float, re.match(said, status.inner_text()).groups())
    assert abs(value - x) < 0.02 and gradient == slope == 1, said
    opened.page.mouse.move(0, 0)
    assert status.inner_text() == ""

    explorer.picture.focus()
    cell = opened.page.evaluate(ACTIVE_CELL)
    read = []
    for _ in range(2):
        opened.page.keyboard.press("ArrowRight")
        read.append(float(re.match(said, status.inner_text())[1]))
    assert read[0] < read[1]
    opened.page.keyboard.press("ArrowUp")
    assert opened.page.evaluate(ACTIVE_CELL) == cell, "JupyterLab took the key for its own"
    explorer.picture.evaluate("canvas => canvas.blur()")
    assert status.inner_text() == ""
    assert opened.complaints() == []


def test_lines_cross_where_no_curve_is_read_out(open_cells):
    opened = open_cells(
        "from autograd_surprises.show.picture import Picture\n"
        "figure = Picture(4, 3)\n"
        "figure.subplots().set(xlabel='step', ylabel='loss', xlim=(0, 1), ylim=(0, 1))\n"
        "figure"
    )
    opened.run_all()
    picture, place = opened.panel.locator(".strokes > canvas"), (203, 101)
    before = picture.evaluate(CROSS, place)
    picture.hover(position=dict(zip("xy", place, strict=True)))
    said = opened.panel.locator(".strokes").get_by_role("status")
    assert wait_until(lambda: re.match(r"^step = 0\.\d+, loss = 0\.\d+$", said.inner_text()))
    across, down = (n - m for n, m in zip(picture.evaluate(CROSS, place), before, strict=True))
    assert across > 60 and down > 60, (across, down)


def test_all_views_of_an_explorer_follow(opened):
    one, other = opened.explorers()[:2]
    before = other.pixels()
    assert one.press("size", "End")
    assert wait_until(lambda: other.text == one.text)
    assert other.pixels() == one.pixels() != before
    assert opened.complaints() == []


def test_a_reloaded_page_shows_the_same_picture(open_cells):
    # alone, because a reloaded page may open its notebook a second time
    opened = open_cells(*PICTURES[:2], alone=True)
    opened.run_all()
    explorer = opened.explorers()[0]
    assert explorer.press("size", "End")
    text, pixels = explorer.text, explorer.pixels()
    opened.reload()
    explorer = opened.explorers()[0]
    assert explorer.text == text
    assert explorer.pixels() == pixels
    assert explorer.press("size", "Home"), "the kernel does not answer"


def test_a_picture_without_its_kernel_says_so(lab, open_cells):
    opened = open_cells(*PICTURES[:2], "plot_gradient_curve(torch.round)")
    opened.run_all()
    alert, canvas = opened.page.get_by_role("alert"), opened.panel.locator(".strokes > canvas")
    canvas.nth(1).wait_for()
    assert alert.count() == 0
    lab.restart_kernel()
    alert.wait_for()
    assert "kernel has stopped" in alert.inner_text()
    dimmed = "canvas => getComputedStyle(canvas).opacity < 1"
    assert canvas.first.evaluate(dimmed)
    assert not canvas.last.evaluate(dimmed), "what never moves needs no kernel"


def test_a_page_without_anywidget_shows_the_stored_pictures(open_cells):
    opened = open_cells(*PICTURES[:2], PICTURES[3], alone=True)
    opened.page.route("**/extensions/anywidget/**", lambda route: route.fulfill(status=404))
    opened.reload()
    opened.run_all()
    panel = opened.panel
    explorer, curve = (panel.get_by_role("img", name=name) for name in ("size=1", "round"))
    for image in (explorer, curve):
        image.wait_for()
        assert image.evaluate(STORED_WIDTH) == 2 * image.bounding_box()["width"]
    assert panel.get_by_text("pip install anywidget").count() == 2
    assert panel.locator(".jupyter-widgets-error-widget:visible").count() == 0
    assert panel.locator(".widget-slider").is_visible()
