"""The atlas in a real JupyterLab: search, choose a class, open with the keyboard, zoom."""

import pytest

from .lab import wait_until
from .notebook_page import ExplorerView

ATLAS = """
from lessons.gradient_atlas.atlas_browser import AtlasBrowser
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
    """The operations that are listed."""
    texts = opened.panel.get_by_label("operation").locator("option").all_inner_texts()
    return [text.replace("\xa0", " ") for text in texts]


def explorer(opened):
    return ExplorerView(opened, opened.panel.locator(".widget-vbox:has(> .strokes > canvas)"))


def test_search_choose_with_keys_and_zoom(atlas):
    assert names(atlas)[:3] == ["torch.relu(x)", "torch.clamp(x, -1, 1)", "torch.abs(x)"]
    assert "torch.relu(x)" in explorer(atlas).text
    atlas.panel.get_by_label("class").select_option("zero everywhere")
    assert wait_until(lambda: "torch.ceil(x)" in names(atlas))
    status = atlas.panel.get_by_role("status").first
    assert wait_until(lambda: status.inner_text() == f"found: {len(names(atlas))}")
    atlas.panel.get_by_label("class").select_option("any class")

    atlas.panel.get_by_label("search").press_sequentially("hardtanh")
    assert wait_until(lambda: names(atlas) == ["F.hardtanh(x)"])
    atlas.panel.get_by_label("operation").focus()
    atlas.page.keyboard.press("ArrowDown")
    assert wait_until(lambda: "F.hardtanh(x), at=-1" in explorer(atlas).text)
    assert explorer(atlas).faults_when_moved(patience=60) == []
    assert atlas.complaints() == []
