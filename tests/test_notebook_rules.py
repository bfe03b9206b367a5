"""Every notebook obeys every rule of tests/notebook_rules.py."""

import functools
import re

import pytest
import torch
from answers import CHECKS
from notebook_rules import RULES, Notebook

from tools.folding import fold
from tools.notebooks import ROOT, lesson_of, notebook_files
from tools.reading import FOLDED

load = functools.cache(Notebook.load)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_notebook_obeys(rule):
    complaints = [f"{path.name}: {said}" for path in notebook_files() for said in rule(load(path))]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("number", ["01", "02", "03", "05", "06", "07"])
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
    if number == "07":
        assert torch.autograd.grad(names["y"].sum(), x)[0].isfinite().all()
    if number == "02":
        assert x.grad.tolist() == [1, 1]


def test_each_check_has_a_task_in_a_notebook():
    tasks = {f"{lesson_of(p)}.{task.number}" for p in notebook_files() for task in load(p).tasks}
    assert tasks == set(CHECKS)


BY_HAND = {  # what authors fold beside what `fold` does, and `install`, which all have
    *(
        "09 moved-tensor-dtype",
        "09 scaled-start-broken",
        "09 scaled-start-finding",
        "14 saved-step-judged",
        "05 argmax-finding",
    ),
    *("05 encoder-steps", "05 frozen-finding", "05 loss-list-finding", "05 unused-finding"),
    *("06 constant-sum-shown", "06 one-class-finding", "06 rounded-graph", "06 rounded-report"),
    *("10 zero-start-steps", "07 distance-graph", "07 entropy-finding"),
    *("07 masked-row-finding", "08 any-message-finding", "08 growing-finding"),
    *("08 listed-steps", "08 stale-finding", "08 state-finding", "08 state-steps"),
    *("08 twice-finding", "08 vector-finding", "11 clinic-watched"),
    *("21 lengths-explorer", "23 frozen-silenced", "24 cam-empty", "24 cam-table"),
    *("26 choice-explorer", "26 sharp-explorer", "29 patches-picture", "30 clip-explorer"),
    *("31 divide-explorer", "19 registered-refused", "19 ways-cost"),
    *("04 gradcheck-ste", "16 afterwards-shown", "16 four-ways-table", "16 scale-table"),
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
