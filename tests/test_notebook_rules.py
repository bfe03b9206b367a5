"""Every notebook obeys every rule of tests/notebook_rules.py."""

import functools
import re

import pytest
import torch
from answers import CHECKS
from notebook_rules import RULES, Notebook

from tools.folding import fold
from tools.notebooks import (
    ROOT,
    lesson_of,
    notebook_files,
)
from tools.reading import FOLDED

load = functools.cache(Notebook.load)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_notebook_obeys(rule):
    complaints = [f"{path.name}: {said}" for path in notebook_files() for said in rule(load(path))]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("number", ["01", "02", "03", "08", "09", "10"])
def test_the_answer_in_a_hurry_runs(number, capsys):
    """Those who come from a search want it on the first screen."""
    (path,) = ROOT.glob(f"notebooks/{number}_*.ipynb")
    (answer,) = FOLDED.findall(load(path).cells[0].source)
    (code,) = re.findall(r"```python\n(.*?)```", answer, re.DOTALL)
    x = torch.tensor([1.3, -1.0], requires_grad=True)
    names = {"torch": torch, "x": x, "y": 2 * x, "model": torch.nn.Linear(2, 1)}
    exec(code, names)
    if number == "03":
        assert names["y"].tolist() == [1, -1]
        assert torch.autograd.grad(names["y"].sum(), x)[0].tolist() == [1, 1]
    if number == "10":
        assert torch.autograd.grad(names["y"].sum(), x)[0].isfinite().all()
    if number == "02":
        assert x.grad.tolist() == [1, 1]


def test_each_check_has_a_task_in_a_notebook():
    tasks = {f"{lesson_of(p)}.{task.number}" for p in notebook_files() for task in load(p).tasks}
    assert tasks == set(CHECKS)


BY_HAND = {  # what authors fold beside what `fold` does, and `install`, which all have
    *("01 moved-tensor-dtype", "05 saved-step-judged", "08 argmax-finding"),
    *("08 encoder-steps", "08 frozen-finding", "08 loss-list-finding", "08 unused-finding"),
    *("09 constant-sum-shown", "09 one-class-finding", "09 rounded-graph", "09 rounded-report"),
    *("09 zero-start-steps", "10 distance-graph", "10 entropy-finding"),
    *("10 masked-row-finding", "11 any-message-finding", "11 growing-finding"),
    *("11 listed-steps", "11 stale-finding", "11 state-finding", "11 state-steps"),
    *("11 twice-finding", "11 vector-finding", "12 clinic-watched"),
    *("16 lengths-explorer", "18 frozen-silenced", "19 cam-empty", "19 cam-table"),
    *("21 choice-explorer", "21 sharp-explorer", "24 patches-picture", "25 clip-explorer"),
    *("25 divide-explorer", "26 registered-refused", "26 ways-cost"),
}


def folded(notebook):
    return {(cell.id, part) for cell in notebook.cells for part in cell.metadata.get("jupyter", ())}


def test_answers_are_folded_and_nothing_else():
    by_hand = set()
    for path in notebook_files():
        notebook = Notebook.load(path).node
        stored = folded(notebook)
        for cell in notebook.cells:
            cell.metadata.pop("jupyter", None)
        fold(notebook)
        assert folded(notebook) <= stored, path.stem
        by_hand |= {f"{path.stem[:2]} {id}" for id, _ in stored - folded(notebook)}
    assert {each for each in by_hand if not each.endswith(" install")} == BY_HAND
