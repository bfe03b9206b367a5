"""How pytest runs a notebook here, and what it says where there is no browser."""

import base64
import io
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from tools.notebooks import IGNORED, ROOT


def test_each_test_of_which_some_cases_run_exists():
    written = "".join(file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r'"(test_\w+)": \d', (ROOT / "conftest.py").read_text("utf-8"))
    assert len(named) > 10 and [name for name in named if f"def {name}(" not in written] == []


def run_pytest(folder, *arguments, **environment):
    """In a folder with this project's conftest.py."""
    shutil.copy(ROOT / "conftest.py", folder)
    imported = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *arguments],
        env={**os.environ, "PYTHONPATH": imported, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
    )


def picture(grey):
    """What a cell shows, as data of an output."""
    file = io.BytesIO()
    Image.new("L", (30, 20), grey).save(file, "png")
    return {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": "a picture"}


@pytest.mark.slow
def test_a_cell_fails_that_says_something_draws_another_picture_changes_or_takes_too_long(tmp_path):
    """Each is one failure: after a timeout, nbval expects the other cells to fail, too."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    pins = [f"{name}=={version(name).partition('+')[0]}" for name in ("matplotlib", "torch")]
    (tmp_path / "constraints.txt").write_text("\n".join(pins))
    stored = {
        "import sys; print('planted', file=sys.stderr)": [],  # though it is not compared
        f"display({picture(254)}, raw=True)  # beside it": [new_output("display_data", picture(0))],
        f"display({picture(255)}, raw=True)": [new_output("display_data", picture(255))],
        f"display({picture(254)}, raw=True)": [new_output("display_data", picture(0))],
        "n = 0": [],
        "n += 1; print(n)": [new_output("stream", text="1\n")],
        "import time; time.sleep(600)": [],
        "2": [],
    }
    cells = [new_code_cell(c, outputs=o, execution_count=1) for c, o in stored.items()]
    cells[0].metadata["tags"] = [IGNORED]
    cells.insert(2, new_markdown_cell("## Another section"))
    nbformat.write(new_notebook(cells=cells), tmp_path / "sample.ipynb")
    done = run_pytest(tmp_path, "--nbval-cell-timeout=10", ".")
    assert "4 failed, 3 passed" in done.stdout
    for said in (
        "printed to stderr: ['planted",
        "another picture",
        "in its second run",
        "Timeout of 10 seconds",
    ):
        assert said in done.stdout
