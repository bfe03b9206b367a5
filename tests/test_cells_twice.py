"""Every cell may be run twice: the second run shows what the first has shown.

Readers press Shift+Enter again, and `.grad` adds up: the notebooks teach that, and may not fall for
it themselves.
"""

import copy
import os

import nbformat
import pytest
from nbclient import NotebookClient
from notebook_rules import text_of
from sample_notebooks import write

from tools.notebooks import IGNORED, notebook_files, tidy_outputs


def run_twice(path):
    """{cell id: what its first and its second run have shown}, the second right after the first."""
    notebook = nbformat.read(path, as_version=4)
    once = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells = [copy.deepcopy(cell) for cell in once for _ in range(2)]
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{cell.id}-{number}"
    client = NotebookClient(
        notebook,
        timeout=120,
        allow_errors=True,
        resources={"metadata": {"path": str(path.resolve().parent)}},
        extra_arguments=["--log-level=ERROR"],
    )
    client.execute(env={key: value for key, value in os.environ.items() if key != "MPLBACKEND"})
    shown = [list(map(text_of, tidy_outputs(cell.outputs))) for cell in notebook.cells]
    return {cell.id: shown[2 * k : 2 * k + 2] for k, cell in enumerate(once)}


def cells_that_differ(path):
    ignored = {
        cell.id
        for cell in nbformat.read(path, as_version=4).cells
        if IGNORED in cell.metadata.get("tags", [])
    }
    return {
        cell: runs
        for cell, runs in run_twice(path).items()
        if runs[0] != runs[1] and cell not in ignored
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", notebook_files(), ids=lambda path: path.stem)
def test_the_second_run_shows_what_the_first_has_shown(path):
    assert cells_that_differ(path) == {}


def test_a_cell_that_changes_is_found(tmp_path):
    path = write(tmp_path, {"Counts": ["n = 0", "n += 1\nprint(n)"]})
    assert cells_that_differ(path) == {"cell-2": [["1\n"], ["2\n"]]}
