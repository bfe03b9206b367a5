"""A reader may jump to any section: each needs no names but its own and those of the setup cell.

Sections with an explorer are also run like that, and their explorers moved: notebook_pictures.py.
"""

import ast
import builtins
import dis
import json
import types

import nbformat
import pytest
from sample_notebooks import write

from tools.notebooks import notebook_files, sections, setup_cell

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
    try:
        statements = [each for source in (setup, *sources) for each in ast.parse(source).body]
    except SyntaxError as error:
        return [f"SyntaxError: {error}"]
    for statement in statements:  # one by one, as instructions of an `except` come last
        module = ast.Module([statement], [])
        code = compile(module, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
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


@pytest.mark.parametrize(
    "sources, missing",
    [
        (["y = 2", "print(x + y)"], "['x']"),
        (["def f():\n    return x"], "['x']"),
        (["print(y)", "y = 2"], "['y']"),
        (["if True"], "SyntaxError"),
    ],
)
def test_a_borrowed_name_is_seen(sources, missing, tmp_path):
    (wrong,) = borrowers(write(tmp_path, {"First": ["x = 1"], "Borrows": sources}))
    assert "'Borrows'" in wrong and missing in wrong


@pytest.mark.slow
def test_explorers_say_what_they_should_wherever_they_are_moved(moved_explorers):
    faults = json.loads((moved_explorers / "faults.json").read_text())
    assert {path.stem: faults[path.stem] for path in notebook_files()} == {
        path.stem: [] for path in notebook_files()
    }
    assert faults["without_fault"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fails", ["'fails'", "after the setup cell alone", "TypeError"]),
        ("fails_afterwards", ["'fails_afterwards'", "ZeroDivisionError"]),
        ("fails_at_an_end", ["cell cell-1 at ", "'a': 3.0", "NameError"]),
        ("fails_where_a_button_leads", ["cell cell-1 at ", "'a': 1.57", "NameError"]),
        ("says_something_else", ["it says", "value -9 to 9", "not 'value -8 to 8'", "'b': 'out'"]),
        ("shows_no_explorer", ["cell cell-1 shows no explorer"]),
        ("has_ink_in_no_part", ["cell cell-1 at ", "a phone shows only parts"]),
    ],
)
def test_a_planted_fault_is_seen(name, said, moved_explorers):
    (fault,) = json.loads((moved_explorers / "faults.json").read_text())[name]
    assert [words for words in said if words not in fault] == []
