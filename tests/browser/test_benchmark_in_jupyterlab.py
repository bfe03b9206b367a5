"""A short turn of what slider_in_a_page.py measures; nothing about speed."""

import pytest

from .notebook_page import EXECUTED
from .slider_in_a_page import presses_and_drags

# Kernels are shared: the next test finds JupyterLab's defaults again.
RESET = "%matplotlib inline\n%config InlineBackend.figure_formats = {'png'}"


@pytest.fixture
def open_contender(open_cells):
    opened = []

    def open_contender(*cells):
        opened.append(open_cells(*cells))
        return opened[-1]

    yield open_contender
    opened[-1].page.evaluate(EXECUTED, RESET)


@pytest.mark.parametrize(
    "name", ["ours", "interact, inline", "ipympl draw_idle", "ipympl blitting"]
)
def test_a_press_and_a_drag(benchmark, open_contender, name):
    explorer = benchmark("explorer")
    opened = open_contender(explorer.cell(name, browser=True))
    (milliseconds,), drags = presses_and_drags(opened, 1, int(name == explorer.OURS))
    assert milliseconds > 0
    assert all(late > 0 for late, _ in drags)
