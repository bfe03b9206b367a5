"""The index of messages in a real JupyterLab: paste a traceback, get an answer with a link."""

import pytest
from pasted_texts import pasted

from .conftest import WRITTEN
from .lab import IS_OPEN, OPEN

pytestmark = pytest.mark.browser

SEARCH = """
from helpers.widgets.symptom_search import SymptomSearch
SymptomSearch()
"""
SAID = "element 0 of tensors does not require grad and does not have a grad_fn"


def test_a_pasted_traceback_is_answered_with_a_link_to_a_notebook(open_cells):
    opened = open_cells(SEARCH)
    opened.run()
    everything = opened.panel.get_by_role("table")
    everything.wait_for()
    opened.panel.get_by_label("message").fill(pasted(RuntimeError(SAID))["Jupyter"])
    answer = opened.panel.locator("li", has_text="What helps")
    answer.wait_for()
    assert everything.count() == 0
    assert "requires_grad_() only hides this message" in answer.inner_text()
    assert opened.complaints() == []
    opened.panel.get_by_role("link", name="01: Which tensors get a gradient").click()
    opened.page.wait_for_function(IS_OPEN, arg="01_parameter_or_variable.ipynb")
    opened.page.evaluate("window.jupyterapp.shell.currentWidget.close()")
    opened.page.evaluate(OPEN, WRITTEN)  # the fixture closes what is shown
    opened.page.wait_for_function(IS_OPEN, arg=WRITTEN)
