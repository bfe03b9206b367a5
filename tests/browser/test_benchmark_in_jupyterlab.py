"""A short turn of what benchmarks/explorer.py measures in a browser. Nothing about speed."""

import pytest
from lab import EXECUTED

pytestmark = pytest.mark.browser

# JupyterLab's defaults again, in the kernel that the next test shares
RESET = "%matplotlib inline\n%config InlineBackend.figure_formats = {'png'}"


def test_each_contender_is_pressed_and_ours_is_dragged(benchmark, open_cells):
    explorer = benchmark("explorer")
    for name in explorer.CONTENDERS:
        opened = open_cells(explorer.cell(name, browser=True))
        presses, drags = explorer.presses_and_drags(opened, 1, int(name == explorer.OURS))
        print(name, presses, drags)
        opened.page.evaluate(EXECUTED, RESET)
