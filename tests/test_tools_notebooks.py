"""`make notebooks` stores notebooks in one form, and only those that ran to their end."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from tools.notebooks import METADATA, normalise


def test_metadata_keeps_tags_and_folding():
    cell = new_code_cell("f()")
    cell.metadata = nbformat.from_dict(
        {
            "tags": ["solution"],
            "jupyter": {"source_hidden": True, "outputs_hidden": True, "other": 1},
            "collapsed": True,  # JupyterLab's older word for outputs_hidden
            "execution": {"iopub.status.idle": "2024"},
        }
    )
    notebook = new_notebook(cells=[cell], metadata={"widgets": {}, "toc": {}})
    assert normalise(notebook).metadata == METADATA
    assert cell.metadata == {
        "tags": ["solution"],
        "jupyter": {"source_hidden": True, "outputs_hidden": True},
        "cellView": "form",
    }
    shown = new_code_cell("f()", metadata={"jupyter": {"outputs_hidden": False}})
    assert normalise(new_notebook(cells=[shown])).cells[0].metadata == {}
