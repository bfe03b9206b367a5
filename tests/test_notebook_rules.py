"""Every notebook obeys every rule of tests/notebook_rules/, and every rule can complain."""

import base64
import functools
import re

import nbformat
import pytest
import torch
from answers import CHECKS
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_rules import RULES, Notebook, content, form

from lessons.asking.prediction import STORED, as_stored
from tools.course import minutes
from tools.folding import fold
from tools.notebooks import (
    METADATA,
    OUTPUTS_HIDDEN,
    ROOT,
    SOURCE_HIDDEN,
    UNFOLDED,
    VARIES,
    is_folded,
    lesson_of,
    normalise,
    notebook_files,
    stored_text,
)
from tools.reading import FOLDED, WIDGETS, calls, minutes_of, task_of

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


def rules_broken(path):
    """What keeps a lesson from being one sitting, with something to do in each part of it."""
    notebook = load(path)
    reading, *exercises = minutes(notebook.node)
    measured = {
        "cells": (len(notebook.cells), 110),
        "minutes": (reading, 45),
        "with exercises": (reading + sum(exercises), 60),
        "to an exercise": (longest_without(task_of, notebook.cells), 25),
        "to a slider": (longest_without(is_moved_code, notebook.cells), 15),
    }
    return {rule: value for rule, (value, most) in measured.items() if value > most}


def is_moved_code(cell):
    return cell.cell_type == "code" and bool(calls(cell, *WIDGETS))


def longest_without(found, cells):
    """The most minutes in a row without one of these cells."""
    stretches = [0.0]
    for cell in cells:
        stretches[-1] += minutes_of(cell)
        if found(cell):
            stretches.append(0.0)
    return max(stretches)


def test_a_lesson_is_one_sitting():
    broken = {path.stem: rules_broken(path) for path in notebook_files()[1:]}
    assert {name: rules for name, rules in broken.items() if rules} == {}


def test_the_path_of_three_hours_takes_three_hours():
    by_number = {path.name[:2]: minutes(load(path).node)[0] for path in notebook_files()}
    for file in (ROOT / "README.md", ROOT / "notebooks" / "00_start_here.ipynb"):
        text = file.read_text(encoding="utf-8")
        (path,) = re.findall(r"\*\*With three hours\*\*[^.]*?,? read ([^\n]*?)\. ", text)
        numbers = re.findall(r"\[(\d\d)\]", path)
        assert len(numbers) >= 4 and abs(sum(map(by_number.get, numbers)) - 180) <= 15, file.name


def test_the_first_slider_comes_before_any_import_that_a_reader_sees():
    cells = load(ROOT / "notebooks" / "00_start_here.ipynb").cells
    first = next(k for k, cell in enumerate(cells) if is_moved_code(cell))
    seen = [cell for cell in cells[: first + 1] if cell.cell_type == "code"]
    assert [
        cell.id for cell in seen if "import " in cell.source and not is_folded(cell, SOURCE_HIDDEN)
    ] == []


def test_each_check_has_a_task_in_a_notebook():
    tasks = {f"{lesson_of(p)}.{task.number}" for p in notebook_files() for task in load(p).tasks}
    assert tasks == set(CHECKS)


def test_a_folder_without_notebooks_is_an_error(tmp_path):
    (tmp_path / "01_copy-Copy1.ipynb").touch()  # a learner's own
    with pytest.raises(FileNotFoundError):
        notebook_files(tmp_path)


# ------------------------------------------------------- each rule can complain


def printed(text):
    return new_output("stream", name="stdout", text=text)


def picture():
    png = base64.b64encode(b"\x89PNG /home/ is not a path here").decode()
    return new_output("display_data", {"image/png": png, "text/plain": "round with step 1"})


TASK_OF_SAMPLE = """\
**Exercise {} · An x** · about 4 minutes

Write x.

<details><summary>Hint 1</summary>

It is a number.

</details>

<details><summary>Hint 2</summary>

It is 3.

</details>"""


def good_notebook():
    """A small notebook that obeys every rule."""
    code, markdown = new_code_cell, new_markdown_cell
    hidden, by_chance = {"jupyter": {"outputs_hidden": True}}, {UNFOLDED: "another number"}
    closed = {"jupyter": {"source_hidden": True}}
    solution = {"tags": ["solution"], "jupyter": {"source_hidden": True, "outputs_hidden": True}}
    asked = shown(**{STORED: [as_stored("What is 2 · 3?", {"5": "No.", "6.0": "Yes."}, "6.0")]})
    cells = [
        markdown("# Why is it zero?", id="title"),
        markdown("**What you'll do**\n\n**What you'll learn**\n\n**What you'll need**", id="goals"),
        code("%pip install it", id="install"),
        code("from helpers.explore import explore", id="setup"),
        markdown("## See it\n\nIt is 4.6 with torch 2.14, as in notebook 10.", id="see"),
        code("e = explore(torch.round)\ne", id="explorer", outputs=[picture()]),
        code("print(e)", id="seen", outputs=[printed("it is 4.600, and 5.6")]),
        code("predict(...)", id="question", outputs=[asked], metadata=closed),
        code("print(2 * 3)", id="answer", outputs=[printed("[6.]")], metadata=hidden),
        code(
            "plot(title='2 · 3')",
            id="plot",
            outputs=[printed("the 6 of another")],
            metadata=by_chance,
        ),
        code("print(time())", id="ignored", metadata={VARIES: "prints the time"}),
    ]
    for name in (1, 2):
        cells += [
            markdown(f"## Exercise {name}", id=f"heading-{name}"),
            markdown(TASK_OF_SAMPLE.format(name), id=f"task-{name}"),
            code(f'check("sample.{name}", x)', id=f"try-{name}", outputs=[printed("not yet")]),
            code(f'check("sample.{name}", 3)', id=f"solve-{name}", metadata=solution),
        ]
        verdict = {"text_html": "<b style='padding:7.25px'>✓</b> right", "text_plain": "✓ right"}
        cells[-1].outputs = [shown(**verdict)]
    cells += [
        markdown("## Recap\n\n- one\n- two\n\nYou can now see it.", id="recap"),
        markdown("## Read on\n\n[autograd](https://docs.pytorch.org/docs/)", id="read-on"),
    ]
    for count, cell in enumerate([c for c in cells if c.cell_type == "code"], start=1):
        cell.execution_count = count
    node = new_notebook(cells=cells, metadata=nbformat.from_dict(METADATA))
    return Notebook("01_sample.ipynb", node, stored_text(normalise(node)))


def test_the_good_notebook_is_good():
    notebook = good_notebook()
    assert {rule.__name__: rule(notebook) for rule in RULES if rule(notebook)} == {}


def edit(cell_id, **changes):
    return lambda notebook, cells: cells[cell_id].update(changes)


def append(cell_id, text):
    return lambda notebook, cells: cells[cell_id].update(source=cells[cell_id].source + text)


def output(cell_id, added):
    return lambda notebook, cells: cells[cell_id].outputs.append(added)


def both(*breaks):
    return lambda notebook, cells: [each(notebook, cells) for each in breaks]


def insert_after(cell_id, text):
    def insert(notebook, cells):
        place = notebook.cells.index(cells[cell_id]) + 1
        notebook.cells.insert(place, new_markdown_cell(text, id="inserted"))

    return insert


def shown(**data):
    return new_output("display_data", {key.replace("_", "/"): text for key, text in data.items()})


FAULTS = {
    form.counts_are_1_to_n: edit("seen", execution_count=None),
    form.no_machine_paths: output("seen", printed("see /home/me/notebooks/01_a.ipynb")),
    form.no_addresses: output("seen", printed("<AddBackward0 object at 0x7f3a2c1d9e80>")),
    form.no_errors_and_warnings: output("seen", new_output("stream", name="stderr", text="!")),
    form.pictures_have_a_text: output("seen", shown(image_png="iVBO")),
    form.everything_is_compared: edit("seen", metadata={"tags": ["raises-exception"]}),
    content.opens_with_a_question: edit("title", source="# Zero"),
    content.says_what_you_will: edit("goals", source="**What you'll do**"),
    content.install_and_setup_come_first: edit("setup", id="imports"),
    content.has_an_explorer: edit("explorer", source="# explore(torch.round)"),
    content.explorers_are_shown: edit("explorer", outputs=[]),
    content.buttons_say_what_they_show: edit(
        "explorer", source="explore(torch.round, tries={'width': [0.5]})"
    ),
    content.nobody_moves_the_readers_controls: append("explorer", "\ne.step_button.click()"),
    content.titles_do_not_answer_questions: edit("plot", source="plot(title='6')"),
    content.what_stays_open_would_be_folded: edit("seen", metadata={UNFOLDED: "why not"}),
    content.has_exercises: edit("task-2", source=TASK_OF_SAMPLE.format(3)),
    content.exercises_are_whole: insert_after("task-1", "## Another section"),
    content.solutions_are_right: edit("solve-1", outputs=[printed("✗ no ✓")]),
    content.recap_is_short: append("recap", "\n- three" * 5),
    content.recap_says_what_the_reader_can_do_now: append("recap", "\n- three"),
    content.ends_with_official_links: edit("read-on", source="## Read on\n\n[a](https://a.org)"),
    content.numbers_come_from_cells: both(append("see", " 4.8"), append("seen", "  # 4.8")),
    content.cells_are_short: append("seen", "\n# more" * 15),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_sees_the_fault(rule):
    notebook = good_notebook()
    FAULTS[rule](notebook, {cell.id: cell for cell in notebook.cells})
    notebook.text = stored_text(notebook.node)
    assert rule(notebook)


FOLDS = {  # {what is folded: (cell, part, what is changed)}
    "a question": ("question", SOURCE_HIDDEN, edit("question", metadata={})),
    "code that only arranges sliders": (
        "explorer",
        SOURCE_HIDDEN,
        edit("explorer", source="explore(drawings.LineDrawing(), slope=(0.0, 1.0))"),
    ),
    "the first output below a question": ("answer", OUTPUTS_HIDDEN, edit("answer", metadata={})),
    "an output with the words of an answer": ("plot", OUTPUTS_HIDDEN, edit("plot", metadata={})),
    "an output below a question in the prose": (
        "ignored",
        OUTPUTS_HIDDEN,
        both(insert_after("plot", "*What time is it?*"), edit("ignored", outputs=[printed("12")])),
    ),
    "the code of a solution": (
        "solve-1",
        SOURCE_HIDDEN,
        edit("solve-1", metadata={"tags": ["solution"]}),
    ),
    "the verdict on a solution": (
        "solve-1",
        OUTPUTS_HIDDEN,
        edit("solve-1", metadata={"tags": ["solution"]}),
    ),
}


@pytest.mark.parametrize("cell, part, change", FOLDS.values(), ids=FOLDS)
def test_what_a_reader_should_not_see_yet_is_folded(cell, part, change):
    notebook = good_notebook()
    cells = {each.id: each for each in notebook.cells}
    change(notebook, cells)
    cells[cell].metadata = nbformat.from_dict(cells[cell].metadata)
    assert not is_folded(cells[cell], part)
    fold(notebook.node)
    assert is_folded(cells[cell], part)


def test_nothing_else_is_folded():
    notebook = good_notebook()
    fold(notebook.node)
    assert stored_text(notebook.node) == notebook.text
