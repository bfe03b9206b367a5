"""A reader may jump to any section: each runs after the setup cell alone.

And since the cells run here anyway: explorers are driven to both ends of every slider.
"""

import functools
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.notebooks import notebook_files

RUNNER = Path(__file__).with_name("run_sections.py")


@functools.cache
def report(path):
    done = subprocess.run(
        [sys.executable, RUNNER, path],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", notebook_files(), ids=lambda path: path.stem)
def test_sections_need_only_the_setup_cell(path):
    assert report(path)["failures"] == []


@pytest.mark.parametrize("path", notebook_files(), ids=lambda path: path.stem)
def test_sliders_are_driven_to_both_ends(path):
    assert report(path)["lazy"] == []


EXPLORE = "e = explore(lambda x, a, b, c: a * x, a=(1.0, 3.0, 0.5), b=['in', 'out'], c=False)\ne"


def report_on(folder, sections):
    """The report on a notebook with a setup cell and these sections: {heading: sources}."""
    setup = "import torch\nfrom helpers.explorer import explore"
    cells = [new_markdown_cell("# Sample?"), new_code_cell(setup, id="setup")]
    for heading, sources in sections.items():
        cells.append(new_markdown_cell(f"## {heading}"))
        cells += [new_code_cell(source) for source in sources]
    nbformat.write(new_notebook(cells=cells), folder / "sample.ipynb")
    return report(folder / "sample.ipynb")


def test_good_sections_pass(tmp_path):
    good = {
        "Names": ["x = torch.ones(2)", "print(x)\ndisplay(x)"],
        "Figure": ["import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"],
        "Explorer": [EXPLORE, "e.set(a=1.0, b='out', c=True)\ne.set(a=3.0)\nprint(e.summary)"],
    }
    assert report_on(tmp_path, good) == {"failures": [], "lazy": []}


def test_faults_are_seen(tmp_path):
    bad = {
        "First": ["x = 1"],
        "Borrows": ["y = 2", "print(x + y)"],
        "Typo": ["if True"],
        "Lazy": [EXPLORE, "e.set(a=2.0)\ne.set(a=3.0)"],
    }
    found = report_on(tmp_path, bad)
    borrows, typo = found["failures"]
    assert "'Borrows'" in borrows
    assert "name 'x' is not defined" in borrows
    assert "'Typo'" in typo
    assert "SyntaxError" in typo
    numeric, choices, checkbox = found["lazy"]
    assert "'Lazy'" in numeric
    assert "'a' to [1.0]" in numeric
    assert "'b' to ['1 of its options']" in choices
    assert "'c' to [True]" in checkbox
