"""The index of symptoms in a real JupyterLab: paste a traceback, get an answer with a link."""

import re

from pasted_texts import pasted

from .lab import wait_until

SEARCH = """
from lessons.start_here.symptom_search import SymptomSearch
SymptomSearch()
"""
SAID = "element 0 of tensors does not require grad and does not have a grad_fn"


def test_a_pasted_traceback_is_answered_with_a_link_to_a_notebook(open_cells):
    opened = open_cells(SEARCH)
    opened.run()
    opened.panel.get_by_label("question").fill(pasted(RuntimeError(SAID))["Jupyter"])
    answer = opened.panel.locator("li", has_text="What helps")
    answer.wait_for()
    assert "requires_grad_() only hides this message" in answer.inner_text()
    assert opened.complaints() == []
    # JupyterLab opens links in Markdown as notebooks. It has found this one's file.
    link = opened.panel.get_by_role("link", name="01: Which tensors get a gradient")
    found = re.compile(r"/files/01_parameter_or_variable\.ipynb\b.*#Which-tensors-get-a-gradient$")
    assert wait_until(lambda: found.search(link.get_attribute("href")))
