"""Pictures in a real JupyterLab: in its theme's colours, dragged, and honest about a kernel."""

import io
import json
import re

from PIL import Image

from .lab import wait_until
from .notebook_page import EXECUTED, STORED_WIDTH

PICTURES = [
    "import torch\n"
    "from helpers.curves import plot_gallery, plot_gradient_curve\n"
    "from helpers.explore import explore",
    "explorer = explore(lambda x, size=1.0: size * x, size=(0.0, 2.0))\nexplorer",
    "display(explorer)",
    "plot_gradient_curve(torch.round)",
    "plot_gallery({'round': torch.round, 'relu': torch.relu})",
    "from IPython.display import Image\nImage(explorer.figure.png())",
]
SET_THEME = """theme => window.jupyterapp.commands
  .execute('apputils:change-theme', {theme}).then(() => theme)"""


def grey_of(picture):
    shown = Image.open(io.BytesIO(picture.screenshot())).convert("L")
    return shown.getpixel((3, 3)), shown.getextrema()[1]


def test_pictures_follow_the_theme_and_all_views_the_slider(open_cells):
    opened = open_cells(*PICTURES)
    opened.run()
    assert opened.complaints() == []
    page, canvases = opened.page, opened.panel.locator(".strokes > canvas")
    canvases.nth(3).wait_for()
    one, other = opened.explorers()[:2]
    before = other.pixels()
    assert one.press("size", "End") and other.text == one.text
    assert other.pixels() == one.pixels() != before

    (stored,) = opened.panel.locator(".jp-OutputArea-output img:visible").all()
    pictures = [*canvases.all(), stored]
    try:
        page.evaluate(SET_THEME, "JupyterLab Dark")  # whose ground is #111
        for picture in pictures:
            assert wait_until(lambda each=picture: 17 <= grey_of(each)[0] <= 19, 20)
            assert grey_of(picture)[1] > 140, "nothing can be read"
    finally:
        page.evaluate(SET_THEME, "JupyterLab Light")
    assert all(wait_until(lambda each=each: grey_of(each)[0] > 253, 20) for each in pictures)
    assert opened.complaints() == []


def test_a_point_on_a_curve_is_dragged_and_moved_where_cells_run(open_cells):
    opened = open_cells(
        "import json, threading\n"
        "from helpers.functions import round_ste\n"
        "from helpers.explore import explore\n"
        "threads = set()\n"
        "print('\\n' * 60)",  # as when ipykernel complains of an ended subshell above a picture
        "def line(x):\n"
        "    threads.add(threading.current_thread().name)\n"
        "    return round_ste(x)\n"
        "explorer = explore(line, x=(-2, 2), point=1.0)\nexplorer",
        "print(json.dumps(explorer.picture.axes[0]))",
    )
    opened.run()
    (explorer,) = opened.explorers()
    assert explorer.comes_to_agree()
    axes = json.loads(opened.panel.locator(".jp-OutputArea-output pre").last.inner_text())
    left, top, width, height = axes["box"]
    low, high = axes["y"]["range"]
    x, y = left + width * (1.0 + 2) / 4, top + height * (high - 1.0) / (high - low)
    start, end = {"x": x, "y": y}, {"x": x - width / 2, "y": y}
    explorer.picture.drag_to(explorer.picture, source_position=start, target_position=end, steps=5)
    moved = wait_until(lambda: re.search(r"point=-(0.99|1|1.01),", explorer.text))
    assert moved, (explorer.text, opened.complaints())
    assert explorer.comes_to_agree()
    opened.settle()  # or the last message of the drag may come after the step
    opened.panel.get_by_role("button", name="Step").click()
    assert wait_until(lambda: re.search(r"point=-1.(09|1|11),", explorer.text)), explorer.text
    opened.page.evaluate(EXECUTED, "assert threads == {'MainThread'}, threads")
    assert opened.complaints() == []


def test_a_picture_without_its_kernel_says_so(lab, open_cells):
    opened = open_cells(*PICTURES[:2], "plot_gradient_curve(torch.round)")
    opened.run()
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
    opened.run()
    panel = opened.panel
    explorer, curve = (panel.get_by_role("img", name=name) for name in ("size=1", "round"))
    for image in (explorer, curve):
        image.wait_for()
        assert image.evaluate(STORED_WIDTH) == 2 * image.bounding_box()["width"]
    assert panel.get_by_text("pip install anywidget").count() == 2
    assert panel.locator(".jupyter-widgets-error-widget:visible").count() == 0
    assert panel.locator(".widget-slider").is_visible()
