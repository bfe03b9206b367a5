"""The atlas in a real JupyterLab: search, choose a class, turn the page, open, zoom."""

import pytest
from lab import DECODED, ExplorerView, wait_until

pytestmark = pytest.mark.browser

ATLAS = """
from helpers.widgets.atlas_browser import AtlasBrowser
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
    buttons = opened.panel.locator(".widget-hbox:has(> img.widget-image) > button:visible")
    return [text.strip() for text in buttons.all_inner_texts()]


def explorer(opened):
    return ExplorerView(opened.panel.locator(".widget-vbox:has(> img.widget-image)"))


def test_search_open_and_zoom(atlas):
    pictures = atlas.panel.locator(".widget-hbox > img.widget-image:visible")
    assert len(names(atlas)) == pictures.count() == 8
    assert pictures.first.evaluate(DECODED) == 300
    assert "torch.abs(x)" in explorer(atlas).text

    atlas.panel.get_by_label("search").press_sequentially("hardtanh")
    assert wait_until(lambda: names(atlas) == ["F.hardtanh(x)"])
    atlas.panel.get_by_role("button", name="F.hardtanh(x)").click()
    assert wait_until(lambda: "F.hardtanh(x), at=-1" in explorer(atlas).text)
    assert explorer(atlas).picture.evaluate(DECODED) == 1600
    assert explorer(atlas).faults_when_moved(patience=5) == []
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
