"""The first slider of the first notebook, in a real JupyterLab: what `make test` tries there."""

from tools.notebooks import SETUP

from .lab import wait_until


def test_the_first_slider_moves_its_picture(lab, open_notebook):
    opened = open_notebook(lab.shorten("00_start_here.ipynb", [SETUP, "first-explorer"]))
    opened.run()
    (explorer,) = opened.explorers()
    seen = []
    for key, shown in (("Home", "0.10"), ("End", "1.50")):
        assert explorer.press("width", key), explorer.text
        assert explorer.shown("width") == shown
        assert wait_until(lambda: explorer.pixels() not in seen, 20), "the picture stands still"
        seen.append(explorer.pixels())
    assert explorer.press("width", "Home"), explorer.text
    assert wait_until(lambda: explorer.pixels() == seen[0], 20), "the picture does not come back"
    assert opened.complaints() == []
