"""The first slider of the first notebook, in a real JupyterLab: what `make test` tries there."""

import nbformat

from .lab import ROOT, wait_until


def test_the_first_slider_moves_its_picture(lab, open_notebook):
    first = ROOT / "notebooks" / "00_start_here.ipynb"
    ids = [cell.id for cell in nbformat.read(first, as_version=4).cells]
    opened = open_notebook(lab.shorten(first.name, ids[: ids.index("first-explorer-said") + 1]))
    last = next(i for i in opened.read() if ids[i] == "first-explorer")
    assert wait_until(lambda: not opened.out_of_place(last), 20)
    (explorer,) = opened.explorers()
    assert all(explorer.box.get_by_role("slider", name=n).count() == 1 for n in ("point", "lr"))
    seen = []
    for key, shown in (("Home", "0.10"), ("End", "1.50")):
        assert explorer.press("width", key), explorer.text
        assert explorer.shown("width") == shown
        assert wait_until(lambda: explorer.pixels() not in seen, 20), "the picture stands still"
        seen.append(explorer.pixels())
    assert explorer.press("width", "Home"), explorer.text
    assert wait_until(lambda: explorer.pixels() == seen[0], 20), "the picture does not come back"
    assert opened.complaints() == []
