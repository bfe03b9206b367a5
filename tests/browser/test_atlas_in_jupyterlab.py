"""The atlas in a real JupyterLab: search, choose a class, turn the page, open, zoom."""

import pytest

from .lab import ExplorerView, wait_until

ATLAS = """
from lessons.atlas_browser import AtlasBrowser
browser = AtlasBrowser("2.13")
browser
"""


@pytest.fixture
def atlas(open_cells):
    opened = open_cells(ATLAS)
    opened.run()
    opened.panel.get_by_label("search").wait_for()
    return opened


def names(opened):
    """The operations on this page."""
    buttons = opened.panel.locator(".atlas-row > button:visible")
    return [text.strip() for text in buttons.all_inner_texts()]


def explorer(opened):
    return ExplorerView(opened, opened.panel.locator(".widget-vbox:has(> .strokes > canvas)"))


def test_search_open_and_zoom(atlas):
    pictures = atlas.panel.get_by_role("img", name="for x from -4 to 4: value")
    assert len(names(atlas)) == pictures.count() == 8
    assert names(atlas)[:3] == ["torch.relu(x)", "torch.clamp(x, -1, 1)", "torch.abs(x)"]
    assert "torch.relu(x)" in explorer(atlas).text

    atlas.panel.get_by_label("search").press_sequentially("hardtanh")
    assert wait_until(lambda: names(atlas) == ["F.hardtanh(x)"])
    atlas.panel.get_by_role("button", name="F.hardtanh(x)").click()
    assert wait_until(lambda: "F.hardtanh(x), at=-1" in explorer(atlas).text)
    assert explorer(atlas).faults_when_moved(patience=60) == []
    assert atlas.complaints() == []


def test_a_class_is_chosen_and_pages_are_turned_by_keyboard(atlas):
    atlas.panel.get_by_label("class").select_option("zero everywhere")
    assert wait_until(lambda: "torch.ceil(x)" in names(atlas))
    first, status = names(atlas), atlas.panel.get_by_role("status").first
    assert status.inner_text() == "1 to 8 of 14"
    more = atlas.panel.get_by_role("button", name="more")
    more.focus()
    atlas.page.keyboard.press("Enter")
    assert wait_until(lambda: status.inner_text() == "9 to 14 of 14")
    assert wait_until(lambda: len(names(atlas)) == 6), names(atlas)
    assert not {*names(atlas)} & {*first}
    assert more.is_disabled()
    assert atlas.complaints() == []


def test_rows_can_be_read_on_wide_and_on_narrow_pages(atlas):
    page = atlas.page
    atlas.panel.get_by_label("search").fill("cross_entropy")  # has the longest names and texts
    assert wait_until(lambda: all("cross_entropy" in name for name in names(atlas)))
    rows = atlas.panel.locator(".atlas-row:visible")
    try:
        for width in (1400, 800, 400):
            page.set_viewport_size({"width": width, "height": 900})
            if width == 400:
                page.evaluate("window.jupyterapp.shell.collapseLeft()")
            assert wait_until(lambda: all(fits(row) for row in rows.all())), width
            for row in rows.all():
                picture, name, words = (each.bounding_box() for each in row.locator("> *").all())
                assert name["x"] >= picture["x"] + 150 or name["y"] >= picture["y"] + 40
                if width == 1400:
                    assert words["x"] >= name["x"] + name["width"] and words["width"] > 300
                else:
                    assert words["y"] >= name["y"] + name["height"]
                    assert words["width"] > 0.95 * row.bounding_box()["width"]
    finally:
        page.evaluate("window.jupyterapp.shell.expandLeft()")


def fits(row):
    """Is nothing in it cut off or wider than the page?"""
    wide = "each => each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight"
    inside = row.bounding_box()["width"] <= row.locator("xpath=..").bounding_box()["width"]
    return inside and all(each.evaluate(wide) for each in [row, *row.locator("button").all()])
