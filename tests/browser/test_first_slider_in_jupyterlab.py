"""The first slider of the first notebook, in a real JupyterLab: what `make test` tries there."""

import base64
import io

from PIL import Image

from tools.notebooks import SETUP

CELL = "first-explorer"
BELOW_THE_TITLE = 0.12  # the title of a stored picture has the values, too
APART = 64  # levels of grey that two ways to draw the same letter do not differ by often


def is_like(one: Image.Image, other: Image.Image) -> bool:
    """Do two pictures show the same, apart from how the edges of lines and letters are drawn?"""
    size = (400, 170)
    greys = [each.convert("L").resize(size, Image.Resampling.BOX) for each in (one, other)]
    start = size[0] * round(BELOW_THE_TITLE * size[1])
    pairs = list(zip(*(grey.tobytes()[start:] for grey in greys), strict=True))
    return sum(abs(a - b) > APART for a, b in pairs) < 0.005 * len(pairs)


def test_the_first_slider_moves_its_picture(lab, open_notebook):
    opened = open_notebook(lab.shorten("00_start_here.ipynb", [SETUP, CELL]))
    (png,) = (out.data["image/png"] for out in opened.notebook.cells[1].outputs if "data" in out)
    stored = Image.open(io.BytesIO(base64.b64decode(png)))
    opened.run()
    (explorer,) = opened.explorers()
    opened.settle()

    def screenshot():
        return Image.open(io.BytesIO(explorer.picture.screenshot()))

    start, before = screenshot(), explorer.shown("width")
    assert is_like(start, stored), "the page does not show what the notebook stores"
    assert explorer.press("width", "End"), explorer.text
    assert not is_like(screenshot(), stored), "the picture stands still"
    assert float(explorer.shown("width")) == 1.5
    for _ in range(20):
        assert explorer.press("width", "ArrowLeft"), explorer.text
    assert explorer.shown("width") == before
    assert is_like(screenshot(), stored), "the picture does not come back"
    assert opened.complaints() == []
