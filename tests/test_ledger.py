"""Each row of ledger.toml is on the page, and a notebook shows that it fails and repairs it.

A cell proves something only by its stored output, and only if nbval compares that output with
what the installed torch prints.
"""

import ast
import copy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_rules import Notebook, calls, text_of, tree
from notebook_rules.form import OPT_OUTS

from tools.notebooks import ROOT, notebook_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROWS = [
    f"{page}{number}"
    for page, last in (("A", 12), ("B", 10), ("C", 8))
    for number in range(1, last + 1)
]
PAGE = "docs/what_the_web_gets_wrong.md"


class Use(NamedTuple):
    """An entry of a row, and the code cell that it names; None if there is none."""

    row: str
    file: str
    entry: dict
    cell: NotebookNode | None

    def __str__(self):
        return f"{self.row}: {self.file}: {self.entry['cell']}"


@dataclass
class Ledger:
    """The rows, the notebooks as {file name without suffix: Notebook}, and the text of the page."""

    rows: dict
    notebooks: Mapping[str, Notebook]
    page: str

    @classmethod
    def load(cls):
        rows = tomllib.loads(Path(__file__).with_name("ledger.toml").read_text(encoding="utf-8"))
        notebooks = {path.stem: Notebook.load(path) for path in notebook_files()}
        return cls(rows, notebooks, (ROOT / PAGE).read_text(encoding="utf-8"))

    def uses(self, *parts):
        """A Use for each entry of the `parts`: "shown", "repaired" or both."""
        for name, row in self.rows.items():
            notebook = self.notebooks.get(row["notebook"])
            cells = {cell.id: cell for cell in notebook.code} if notebook else {}
            for entry in (entry for part in parts for entry in row[part]):
                yield Use(name, f"{row['notebook']}.ipynb", entry, cells.get(entry["cell"]))

    def found(self, *parts):
        """The same without missing cells, about which `cells_exist` complains."""
        return [use for use in self.uses(*parts) if use.cell]

    @property
    def table(self):
        """The lines of the page's table."""
        lines = ["| On the page | What is true | Notebook |", "|---|---|---|"]
        for row in self.rows.values():
            link = f"[{row['notebook'][:2]}](../notebooks/{row['notebook']}.ipynb)"
            lines.append(f"| {row['claim']} | {row['truth']} | {link} |")
        return lines


def expected_in(cell):
    """{(helper, kind)} of each `with expect_error(Kind, …):` in the cell; likewise warnings."""
    blocks = [node for node in ast.walk(tree(cell)) if isinstance(node, ast.With)]
    managers = [item.context_expr for block in blocks for item in block.items]
    made = [manager for manager in managers if isinstance(manager, ast.Call) and manager.args]
    return {(ast.unparse(call.func), ast.unparse(call.args[0])) for call in made}


# ------------------------------------------------------------ what has to hold


def every_row_is_there(ledger):
    rows = list(ledger.rows)
    if rows == ROWS:
        return []
    missing = [name for name in ROWS if name not in rows]
    unknown = [name for name in rows if name not in ROWS]
    return [f"missing rows {missing}, unknown rows {unknown}; the order is that of ROWS"]


def rows_are_filled_in(ledger):
    """An empty text would be found in every output."""
    allowed = {
        "shown": ({"cell", "says"}, {"cell", "kind", "says"}),
        "repaired": ({"cell"}, {"cell", "says"}),
    }
    complaints = []
    for name, row in ledger.rows.items():
        if row.keys() != {"claim", "truth", "notebook", "shown", "repaired"}:
            complaints.append(f"{name}: has the keys {list(row)}")
        entries = [(part, entry) for part in allowed for entry in row.get(part, [])]
        complaints += [f"{name}: {part} is empty" for part in allowed if not row.get(part)]
        complaints += [
            f"{name}: {part} {entry}: its keys are one of {allowed[part]}, and none is empty"
            for part, entry in entries
            if entry.keys() not in allowed[part] or not all(map(str.strip, entry.values()))
        ]
    return complaints


def cells_exist(ledger):
    return [
        f"{use}: there is no such code cell"
        for use in ledger.uses("shown", "repaired")
        if use.cell is None
    ]


def cells_are_compared(ledger):
    return [
        f"{use}: nbval does not compare its output"
        for use in ledger.found("shown", "repaired")
        if use.cell.id in OPT_OUTS.get(use.file, {})
    ]


def cells_are_no_questions(ledger):
    """The stored output of a question has all of its options, the wrong ones too."""
    return [
        f"{use}: is a question: name the cell that prints the answer"
        for use in ledger.found("shown", "repaired")
        if calls(use.cell, "predict")
    ]


def failures_are_expected(ledger):
    complaints = []
    for use in ledger.found("shown"):
        kind = use.entry.get("kind", "")
        helper = "expect_warning" if kind.endswith("Warning") else "expect_error"
        if kind and (helper, kind) not in expected_in(use.cell):
            complaints.append(f"{use}: has no `with {helper}({kind}, …)`")
    return complaints


def failures_are_printed(ledger):
    complaints = []
    for use in ledger.found("shown"):
        kind, says = use.entry.get("kind"), use.entry["says"]
        printed = [output.text for output in use.cell.outputs if output.get("name") == "stdout"]
        lines = [line for line in "".join(printed).splitlines() if line.startswith(f"{kind}: ")]
        if kind and not any(says in line for line in lines):
            complaints.append(f"{use}: printed no line `{kind}: … {says} …`")
    return complaints


def texts_are_stored(ledger):
    return [
        f"{use}: its stored output does not have {use.entry['says']!r}"
        for use in ledger.found("shown", "repaired")
        if use.entry.get("says", "") not in "\n".join(map(text_of, use.cell.outputs))
    ]


def repairs_raise_nothing(ledger):
    return [
        f"{use}: expects an error or a warning, so it repairs nothing"
        for use in ledger.found("repaired")
        if any(helper.startswith("expect_") for helper, _ in expected_in(use.cell))
    ]


def no_failure_is_a_repair(ledger):
    shown = {(use.file, use.entry["cell"]) for use in ledger.uses("shown")}
    return [
        f"{use}: is also in shown"
        for use in ledger.uses("repaired")
        if (use.file, use.entry["cell"]) in shown
    ]


def page_has_the_table(ledger):
    if [line for line in ledger.page.splitlines() if line.startswith("|")] == ledger.table:
        return []
    return ["\n".join([f"the table of {PAGE} has to be", *ledger.table])]


CHECKS = [
    every_row_is_there,
    rows_are_filled_in,
    cells_exist,
    cells_are_compared,
    cells_are_no_questions,
    failures_are_expected,
    failures_are_printed,
    texts_are_stored,
    repairs_raise_nothing,
    no_failure_is_a_repair,
    page_has_the_table,
]


@pytest.fixture(scope="module")
def ledger():
    return Ledger.load()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_ledger(check, ledger):
    complaints = check(ledger)
    assert not complaints, "\n".join(complaints)


# ---------------------------------------------------------- each check can fail


def printing(cell_id, source, text):
    outputs = [new_output("stream", name="stdout", text=text)]
    return new_code_cell(source, id=cell_id, outputs=outputs, execution_count=1)


def good_ledger():
    """All rows alike, about one small notebook."""
    raises = "with expect_error(ValueError, match='bad'):\n    f()\nprint('after')"
    warns = "with expect_warning(UserWarning, match='careful'):\n    f()"
    cells = [
        new_markdown_cell("## Look", id="look"),
        printing("raises", raises, "ValueError: a bad thing\nafter\n"),
        printing("warns", warns, "UserWarning: be careful\n"),
        printing("prints", "print(1)", "x = 1\n"),
        printing("ignored", "print(1)", "x = 1\n"),
        printing("repaired", "print(2)", "x = 2\n"),
    ]
    row = {
        "claim": "One is two",
        "truth": "One is one",
        "notebook": "01_sample",
        "shown": [
            {"cell": "raises", "kind": "ValueError", "says": "bad"},
            {"cell": "warns", "kind": "UserWarning", "says": "careful"},
            {"cell": "prints", "says": "x = 1"},
        ],
        "repaired": [{"cell": "repaired"}, {"cell": "repaired", "says": "x = 2"}],
    }
    notebook = Notebook("01_sample.ipynb", new_notebook(cells=cells), "")
    ledger = Ledger({name: copy.deepcopy(row) for name in ROWS}, {"01_sample": notebook}, "")
    ledger.page = "\n".join(["# A", "", *ledger.table, ""])
    return ledger


def test_the_good_ledger_is_good():
    assert [complaint for check in CHECKS for complaint in check(good_ledger())] == []


def row(key, value):
    return lambda ledger, cells: ledger.rows["A2"].update({key: value})


def entry(part, number, **changes):
    return lambda ledger, cells: ledger.rows["A2"][part][number].update(changes)


def cell(cell_id, **changes):
    return lambda ledger, cells: cells[cell_id].update(changes)


def prints(cell_id, text):
    return lambda ledger, cells: cells[cell_id].outputs[0].update(text=text)


FAULTS = {
    "missing row": (every_row_is_there, lambda ledger, _: ledger.rows.pop("B10")),
    "no repair": (rows_are_filled_in, row("repaired", [])),
    "misspelt key": (rows_are_filled_in, entry("shown", 0, kinds="ValueError")),
    "empty text": (rows_are_filled_in, entry("shown", 2, says=" ")),
    "no such cell": (cells_exist, entry("repaired", 1, cell="gone")),
    "ignored output": (cells_are_compared, entry("shown", 2, cell="ignored")),
    "question": (cells_are_no_questions, cell("prints", source="predict('?', {}, answer=1)")),
    "bare error": (failures_are_expected, cell("raises", source="f()")),
    "another kind": (failures_are_expected, entry("shown", 0, kind="TypeError")),
    "said elsewhere": (failures_are_printed, prints("raises", "ValueError: no\nbad\n")),
    "another text": (texts_are_stored, prints("prints", "x = 7\n")),
    "failing repair": (
        repairs_raise_nothing,
        cell("repaired", source="with expect_error(ValueError, match='bad'):\n    f()"),
    ),
    "failure as repair": (no_failure_is_a_repair, entry("repaired", 0, cell="prints")),
    "claim newer than the page": (page_has_the_table, row("claim", "One is three")),
}


@pytest.fixture(autouse=True)
def opt_out(monkeypatch):
    monkeypatch.setitem(OPT_OUTS, "01_sample.ipynb", {"ignored": "prints the time"})


@pytest.mark.parametrize(("check", "breaks"), FAULTS.values(), ids=FAULTS)
def test_fault_is_seen(check, breaks):
    ledger = good_ledger()
    breaks(ledger, {cell.id: cell for cell in ledger.notebooks["01_sample"].cells})
    assert check(ledger)


def test_every_check_has_a_fault():
    assert {check for check, _ in FAULTS.values()} == set(CHECKS)
