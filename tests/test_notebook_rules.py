"""Every notebook obeys every rule of tests/rules/, and every rule can complain."""

import base64
import functools

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from rules import RULES, Notebook, content, form

from tools.notebooks import METADATA, WIDGET_VIEW, normalise, notebook_files, stored_text

load = functools.cache(Notebook.load)


@pytest.mark.parametrize("path", notebook_files(), ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_notebook_obeys(rule, path):
    complaints = rule(load(path))
    assert not complaints, "\n".join([path.name, *complaints])


def same_numbers(names):
    numbers = [name[:2] for name in names]
    return [name for name in names if numbers.count(name[:2]) > 1]


def test_numbers_are_unique():
    assert same_numbers([path.name for path in notebook_files()]) == []
    assert same_numbers(["01_a.ipynb", "01_b.ipynb", "02_c.ipynb"]) == ["01_a.ipynb", "01_b.ipynb"]


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


def good_notebook():
    """A small notebook that obeys every rule."""
    code, markdown = new_code_cell, new_markdown_cell
    hidden = {"tags": ["solution"], "jupyter": {"source_hidden": True}}
    cells = [
        markdown("# Why is it zero?", id="title"),
        markdown("**What you'll do**\n\n**What you'll learn**\n\n**What you'll need**", id="goals"),
        code("from helpers.widgets import explore", id="setup"),
        markdown("## See it\n\n`just` is fine in code.\n\n```\n# simply a comment\n```", id="see"),
        code("e = explore(torch.round)\ne", id="explorer", outputs=[picture()]),
        code("e.set(step=2)\nprint(e.summary)", id="drive", outputs=[printed("step 2")]),
    ]
    for label in ("01.1", "01.2"):
        name = label.replace(".", "-")
        cells += [
            markdown(f"## Exercise {label}", id=f"heading-{name}"),
            code(f'exercise("{label}")', id=f"exercise-{name}", outputs=[printed("Do it.")]),
            code(f'x = ...\ncheck("{label}", x)', id=f"try-{name}", outputs=[printed("not yet")]),
            code(f'check("{label}", 3)', id=f"solve-{name}", metadata=hidden),
        ]
        cells[-1].outputs = [printed("✓ right\n")]
    cells += [
        markdown("## Recap\n\n- one\n- two", id="recap"),
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


def remove(cell_id):
    return lambda notebook, cells: notebook.cells.remove(cells[cell_id])


def shown(**data):
    return new_output("display_data", {key.replace("_", "/"): text for key, text in data.items()})


FAULTS = [
    (form.name_says_number_and_title, lambda nb, _: setattr(nb, "name", "1-sample.ipynb")),
    (form.format_is_4_5, lambda nb, _: nb.node.update(nbformat_minor=4)),
    (form.kernel_is_python3, lambda nb, _: nb.node.metadata.kernelspec.update(name="venv")),
    (form.kernel_is_python3, lambda nb, _: nb.node.metadata.language_info.update(version="3.9")),
    (form.no_widget_state, lambda nb, _: nb.node.metadata.update(widgets={"state": {}})),
    (form.no_widget_view, output("explorer", new_output("display_data", {WIDGET_VIEW: {}}))),
    (form.metadata_is_minimal, lambda nb, _: nb.node.metadata.update(toc={})),
    (form.metadata_is_minimal, edit("see", metadata={"execution": {"iopub.status.idle": "2024"}})),
    (form.metadata_is_minimal, edit("see", metadata={"jupyter": {"outputs_hidden": True}})),
    (form.counts_are_1_to_n, edit("drive", execution_count=7)),
    (form.counts_are_1_to_n, edit("drive", execution_count=None)),
    (form.no_empty_code_cells, edit("drive", source=" \n")),
    (form.ids_are_readable, edit("see", id="0f3a9c1e")),
    (form.ids_are_readable, edit("see", id="3b241101-e2bb-4255-8caf-4136c566a962")),
    (form.ids_are_readable, edit("see", id="See_It")),
    (form.ids_are_readable, edit("see", id="drive")),
    (form.stored_as_make_notebooks_does, lambda nb, _: setattr(nb, "text", nb.text + "\n")),
    (form.stored_as_make_notebooks_does, output("drive", printed("and more"))),
    (form.no_machine_paths, output("drive", printed("see /home/me/notebooks/01_a.ipynb"))),
    (form.no_machine_paths, output("drive", printed("File '/tmp/x.py'"))),
    (form.no_machine_paths, output("drive", shown(text_html=r"<p>C:\Users\me</p>"))),
    (form.no_machine_paths, output("drive", printed("lib/site-packages/torch"))),
    (form.no_machine_paths, output("drive", printed("ipykernel_123/1.py:3: UserWarning"))),
    (form.no_addresses, output("drive", printed("<AddBackward0 object at 0x7f3a2c1d9e80>"))),
    (form.no_errors_and_warnings, output("drive", new_output("error", ename="E", evalue=""))),
    (form.no_errors_and_warnings, output("drive", new_output("stream", name="stderr", text="!"))),
    (form.pictures_have_a_text, output("drive", shown(image_png="iVBO"))),
    (form.everything_is_compared, append("drive", "\n# NBVAL_IGNORE_OUTPUT")),
    (form.everything_is_compared, edit("drive", metadata={"tags": ["nbval-ignore-output"]})),
    (form.everything_is_compared, edit("drive", metadata={"tags": ["raises-exception"]})),
    (form.nbval_markers_stand_alone, append("drive", "  # NBVAL_SKIP")),
    (content.opens_with_a_question, edit("title", source="# Zero")),
    (content.opens_with_a_question, edit("title", source="## Why?")),
    (content.opens_with_a_question, remove("title")),
    (
        content.says_what_you_will,
        edit("goals", source="**What you'll do** and **What you'll learn**"),
    ),
    (content.setup_comes_first, edit("setup", id="imports")),
    (content.has_an_explorer, edit("explorer", source="# explore(torch.round)")),
    (content.explorers_are_shown, edit("explorer", outputs=[])),
    (content.explorers_are_driven, edit("drive", source="e.set(step=2)\nprint('well')")),
    (content.explorers_are_driven, edit("drive", source="print(e.summary)")),
    (content.explorers_are_driven, edit("explorer", source="explore(torch.round)")),
    (content.has_exercises, remove("exercise-01-2")),
    (content.has_exercises, edit("exercise-01-2", source='exercise("01.1")')),
    (content.has_exercises, append("drive", '\nexercise("02.1")')),
    (content.exercises_are_checked_and_solved, remove("try-01-1")),
    (content.exercises_are_checked_and_solved, remove("solve-01-1")),
    (content.exercises_are_checked_and_solved, edit("solve-01-1", source='check("01.2", 3)')),
    (content.solutions_are_folded_and_right, edit("solve-01-1", metadata={"tags": ["solution"]})),
    (content.solutions_are_folded_and_right, edit("solve-01-1", outputs=[printed("✗ no ✓")])),
    (content.solutions_are_folded_and_right, edit("solve-01-1", outputs=[])),
    (content.recap_is_short, append("recap", "\n- three" * 5)),
    (content.recap_is_short, edit("recap", source="### Recap")),
    (content.ends_with_official_links, edit("read-on", source="## Read on\n\n[a](https://a.org)")),
    (content.ends_with_official_links, append("read-on", "\n\n## And more")),
    (content.cells_are_short, append("drive", "\n# more" * 14)),
    (content.cells_are_short, append("try-01-1", "\n# more" * 19)),
    (content.cells_are_short, append("solve-01-1", "\n# more" * 30)),
    (content.no_filler_words, append("see", " Just look.")),
    (content.no_filler_words, append("see", " It is, of course, zero.")),
    (content.no_filler_words, output("drive", shown(text_markdown="Simply do it."))),
    (content.no_emoji, append("see", " \N{ROCKET}")),
    (content.no_emoji, output("drive", printed("\N{WHITE HEAVY CHECK MARK} done"))),
]


@pytest.mark.parametrize(("rule", "breaks"), FAULTS, ids=[rule.__name__ for rule, _ in FAULTS])
def test_rule_sees_the_fault(rule, breaks):
    notebook = good_notebook()
    breaks(notebook, {cell.id: cell for cell in notebook.cells})
    assert rule(notebook)


def test_every_rule_has_a_fault():
    assert {rule.__name__ for rule in RULES} == {rule.__name__ for rule, _ in FAULTS}


def test_an_opt_out_is_declared_and_still_there(monkeypatch):
    monkeypatch.setitem(form.OPT_OUTS, "01_sample.ipynb", {"drive": "prints the time"})
    notebook = good_notebook()
    assert form.everything_is_compared(notebook), "declared, but gone"
    notebook.code[2].source += "\n# NBVAL_IGNORE_OUTPUT"
    assert form.everything_is_compared(notebook) == []


def test_notebook_00_needs_no_exercises():
    notebook = good_notebook()
    notebook.name = "00_start_here.ipynb"
    notebook.node.cells = [cell for cell in notebook.cells if "-01-" not in cell.id]
    assert content.has_exercises(notebook) == []
