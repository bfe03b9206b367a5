"""Each row of ledger.toml is on the page, and a notebook shows that it fails.

A cell proves something only by its stored output, and only if nbval compares that output with
what the installed torch prints.
"""

import ast
from pathlib import Path

from notebook_rules import Notebook

from autograd_surprises.facts.toml_data import tomllib
from tools.notebooks import ROOT, VARIES, notebook_files
from tools.reading import calls, text_of, tree

ROWS = tomllib.loads(Path(__file__).with_name("ledger.toml").read_text(encoding="utf-8"))
PAGE = ROOT / "docs" / "what_the_web_gets_wrong.md"
NOTEBOOKS = {path.stem: Notebook.load(path) for path in notebook_files()}


def expected_in(cell):
    """{(helper, kind)} of each `with expect_error(Kind, …):` in the cell; likewise warnings."""
    blocks = [node for node in ast.walk(tree(cell)) if isinstance(node, ast.With)]
    managers = [item.context_expr for block in blocks for item in block.items]
    made = [manager for manager in managers if isinstance(manager, ast.Call) and manager.args]
    return {(ast.unparse(call.func), ast.unparse(call.args[0])) for call in made}


def shows_what_fails(cell, says, kind=""):
    """Does its stored output say so, if there is a kind as that of an error or a warning?"""
    if not kind:
        return says in "\n".join(map(text_of, cell.outputs))
    helper = "expect_warning" if kind.endswith("Warning") else "expect_error"
    printed = "".join(each.text for each in cell.outputs if each.get("name") == "stdout")
    lines = [line for line in printed.splitlines() if line.startswith(f"{kind}: ")]
    return (helper, kind) in expected_in(cell) and any(says in line for line in lines)


def complaints():
    for name, row in ROWS.items():
        if not row["shown"]:
            yield f"{name}: nothing shows it"
        for entry in row["shown"]:
            facts = {"notebook": row["notebook"], **entry}
            notebook, id = facts.pop("notebook"), facts.pop("cell")
            cell = next((cell for cell in NOTEBOOKS[notebook].code if cell.id == id), None)
            where = f"{name}: {notebook}.ipynb: {id}"
            if not cell:
                yield f"{where}: there is no such code cell"
            elif VARIES in cell.metadata:
                yield f"{where}: nbval does not compare its output"
            elif calls(cell, "predict"):
                yield f"{where}: is a question, whose output has the wrong options, too"
            elif not all(map(str.strip, facts.values())):
                yield f"{where}: an empty text would be found in every output"
            elif not shows_what_fails(cell, **facts):
                yield f"{where}: does not prove {entry}"


def test_the_notebooks_prove_each_row():
    assert [*complaints()] == []


def test_the_page_has_each_row_and_links_to_its_notebook():
    counts = {"A": 12, "B": 10, "C": 8}
    assert list(ROWS) == [f"{page}{k + 1}" for page, last in counts.items() for k in range(last)]
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    for row, line in zip(ROWS.values(), lines[2:], strict=True):
        link = f"[{row['notebook'][:2]}](../notebooks/{row['notebook']}.ipynb)"
        claim, truth, shown_in = line.strip("| ").split(" | ")
        assert (claim, shown_in) == (row["claim"], link) and truth
