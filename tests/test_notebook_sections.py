"""A reader may jump to any section: each needs no names but its own and those of the setup cell.

And sections with an explorer are run after the setup cell alone, to see that some cell drives it to
both ends of every slider.
"""

import ast
import builtins
import dis
import json
import subprocess
import sys
import types
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.notebooks import notebook_files, sections, setup_cell

RUNNER = Path(__file__).with_name("run_sections.py")


def reports(*paths):
    """What run_sections.py finds in each of these notebooks."""
    done = subprocess.run(
        [sys.executable, RUNNER, *paths],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout)
    return {path.name: found[str(path)] for path in paths}


KNOWN = {*dir(builtins), "display", "get_ipython", "__name__"}
STORED, LOADED = {"STORE_NAME", "STORE_GLOBAL"}, {"LOAD_NAME", "LOAD_GLOBAL"}


def names(code):
    """What a cell, function or class uses before it has it, and what it makes."""
    used, made = [], set()
    for step in dis.get_instructions(code):
        if step.opname in STORED:
            made.add(step.argval)
        elif step.opname in LOADED and step.argval not in made:
            used.append(step.argval)
    return used, made


def inner_names(code):
    """What the functions and classes in it use of what is outside."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            used, _ = names(constant)
            yield from used
            yield from inner_names(constant)


def borrowed(setup, sources):
    """The names that a section uses and neither it nor the setup cell makes, or a syntax error."""
    known, later = set(KNOWN), []
    for source in (setup, *sources):
        try:
            code = compile(source, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            return [f"SyntaxError: {error}"]
        used, made = names(code)
        if missing := sorted(set(used) - known):
            return missing
        known |= made
        later += inner_names(code)
    return sorted(set(later) - known)


def borrowers(path):
    """What is wrong with the sections of a notebook, a line for each."""
    notebook = nbformat.read(path, as_version=4)
    setup = setup_cell(notebook)
    wrong = []
    for heading, cells in sections(notebook)[1:]:
        sources = [c.source for c in cells if c.cell_type == "code"]
        if missing := borrowed(setup.source, sources):
            wrong.append(f"section {heading!r} needs more than the setup cell: {missing}")
    return wrong


@pytest.mark.parametrize("path", notebook_files(), ids=lambda path: path.stem)
def test_sections_need_only_the_setup_cell(path):
    assert borrowers(path) == []


EXPLORE = "e = explore(lambda x, a, b, c: a * x, a=(1.0, 3.0, 0.5), b=['in', 'out'], c=False)\ne"


def write(folder, sections, name="sample.ipynb"):
    """A notebook with a setup cell and these sections: {heading: sources}."""
    setup = "import torch\nfrom helpers.widgets import explore"
    cells = [new_markdown_cell("# Sample?"), new_code_cell(setup, id="setup")]
    for heading, sources in sections.items():
        cells.append(new_markdown_cell(f"## {heading}"))
        cells += [new_code_cell(source) for source in sources]
    nbformat.write(new_notebook(cells=cells), folder / name)
    return folder / name


WITHOUT_FAULT = {
    "Names": ["x = torch.ones(2)", "print(x)\ndisplay(x)"],
    "Figure": ["import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"],
    "Later": ["def f():\n    return g(h=[i for i in range(2)])", "def g(h):\n    return h"],
    "Class": ["class A:\n    n = 1\n    m = n\n\n    def f(self):\n        return A"],
    "Await": ["import asyncio\nawait asyncio.sleep(0)"],
    "Explorer": [EXPLORE, "e.set(a=1.0, b='out', c=True)\ne.set(a=3.0)\nprint(e.summary)"],
}


def test_good_sections_pass(tmp_path):
    assert borrowers(write(tmp_path, WITHOUT_FAULT)) == []


@pytest.mark.parametrize(
    "sources, missing",
    [
        (["y = 2", "print(x + y)"], "['x']"),
        (["def f():\n    return x"], "['x']"),
        (["class A:\n    y = x"], "['x']"),
        (["z = [x for _ in range(2)]"], "['x']"),
        (["print(y)", "y = 2"], "['y']"),
        (["f = lambda: (lambda: x)"], "['x']"),
        (["if True"], "SyntaxError"),
    ],
)
def test_a_borrowed_name_is_seen(sources, missing, tmp_path):
    (wrong,) = borrowers(write(tmp_path, {"First": ["x = 1"], "Borrows": sources}))
    assert "'Borrows'" in wrong and missing in wrong


GOOD = {"failures": [], "lazy": []}
FAULTY = {
    "Fails": ["explore(torch.sin, b=(0.0, 1.0))"],
    "Lazy": [EXPLORE, "e.set(a=2.0)\ne.set(a=3.0)"],
}


def test_sliders_are_driven_to_both_ends_and_a_planted_fault_is_seen(tmp_path):
    good = write(tmp_path, WITHOUT_FAULT, "good.ipynb")
    faulty = write(tmp_path, FAULTY, "faulty.ipynb")
    found = reports(faulty, good, *notebook_files())

    planted = found.pop("faulty.ipynb")
    (failure,) = planted["failures"]
    assert "'Fails'" in failure and "TypeError" in failure
    numeric, choices, checkbox = planted["lazy"]
    assert "'Lazy'" in numeric
    assert "'a' to [1.0]" in numeric
    assert "'b' to ['1 of its options']" in choices
    assert "'c' to [True]" in checkbox
    assert found == {path.name: GOOD for path in (good, *notebook_files())}
