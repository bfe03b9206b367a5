"""`make notebooks` stores notebooks in one form, and only those that ran to their end."""

import os
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.notebooks import (
    METADATA,
    ROOT,
    normalise,
)

WIDGETS = "import ipywidgets\nimport matplotlib.pyplot as plt"
PRINTS = "print('a')\nprint('b', flush=True)\nplt.plot([1, 3, 2])\nplt.show()\nprint('c')"


def write(path, *sources):
    cells = [new_markdown_cell("# Does it run?"), *map(new_code_cell, sources)]
    nbformat.write(new_notebook(cells=cells), path)
    return path


def make_notebooks(*paths):
    """In a separate process, because nbclient leaves event loops open."""
    # Some servers set this; pictures are wanted all the same.
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "tools.notebooks", *paths]
    options = {"cwd": ROOT, "env": environment, "encoding": "utf-8", "timeout": 1200}
    return subprocess.run(command, capture_output=True, text=True, **options)


@pytest.mark.slow
def test_a_second_run_changes_nothing_and_a_failing_notebook_is_left_alone(tmp_path):
    bad = write(tmp_path / "01_bad.ipynb", "x = 1", "y = x / 0")
    sample = write(tmp_path / "02_a.ipynb", WIDGETS, PRINTS, "ipywidgets.IntSlider()", "")
    before = bad.read_bytes()
    done = make_notebooks(bad, sample)
    assert done.returncode == 1
    assert bad.read_bytes() == before
    assert done.stdout == "02_a.ipynb: updated\n"
    assert f"01_bad.ipynb, cell {nbformat.read(bad, as_version=4).cells[2].id}:" in done.stderr
    assert "y = x / 0" in done.stderr and "ZeroDivisionError" in done.stderr

    first = sample.read_bytes()
    assert make_notebooks(sample).stdout == "02_a.ipynb: unchanged\n"
    assert sample.read_bytes() == first
    assert first.endswith(b"}\n")

    notebook = nbformat.read(sample, as_version=4)
    nbformat.validate(notebook)
    title, setup, prints, slider = notebook.cells  # the empty cell is gone
    assert [title.id, setup.id, prints.id] == ["does-it-run-1", "setup", "does-it-run-2"]
    assert [setup.execution_count, prints.execution_count, slider.execution_count] == [1, 2, 3]
    printed, picture, after = prints.outputs
    assert (printed.text, after.text) == ("a\nb\n", "c\n")
    assert picture.data.keys() == {"image/png", "text/plain"}
    assert slider.outputs[0].data == {"text/plain": "IntSlider(value=0)"}
    assert notebook.metadata == METADATA
    assert all(cell.metadata == {} for cell in notebook.cells)


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
