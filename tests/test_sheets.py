"""Sheets are handed out without answers, and nbgrader gives the points for them."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from answers import CHECKS

from tools.notebooks import OUTPUTS_HIDDEN, is_folded, is_solution, notebook_files
from tools.reading import task_of
from tools.sheets import write_sheets


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory):
    """{name: (our notebook, the sheet)}, and the folder."""
    folder = tmp_path_factory.mktemp("class")
    written = {path.name: nbformat.read(path, as_version=4) for path in write_sheets(folder)}
    ours = {path.name: nbformat.read(path, as_version=4) for path in notebook_files()}
    assert list(written) == list(ours)
    return {name: (ours[name], written[name]) for name in ours}, folder


def gives_points(cell):
    return "nbgrader" in cell.metadata


@pytest.mark.slow
def test_a_sheet_has_every_cell_but_the_solutions_and_no_output(handed_out):
    pairs, _ = handed_out
    for name, (ours, written) in pairs.items():
        cells = [cell for cell in written.cells if not gives_points(cell)]
        expected = [cell for cell in ours.cells if not is_solution(cell)]
        assert [cell.id for cell in cells] == [cell.id for cell in expected], name
        texts = {cell.source for cell in cells}
        assert all(cell.source in texts for cell in ours.cells if task_of(cell)), "task and hints"
        code = [cell for cell in written.cells if cell.cell_type == "code"]
        assert not any(cell.outputs or cell.execution_count for cell in code)
        assert not any(is_folded(cell, OUTPUTS_HIDDEN) for cell in code)
        assert [c.source for c in code if not gives_points(c)] == [
            c.source for c in expected if c.cell_type == "code"
        ]


def test_a_sheet_does_not_offer_a_solution(handed_out):
    pairs, _ = handed_out
    for name, (ours, written) in pairs.items():
        before, text = ("\n".join(c.source for c in each.cells) for each in (ours, written))
        assert not re.search(r"# Solution|folded solution|solution is folded", text), name
        for beside in ("read what `check` says.", "<span", "</span>"):
            assert text.count(beside) == before.count(beside), (name, beside)


def test_each_answer_has_its_point_in_the_next_cell(handed_out):
    pairs, _ = handed_out
    points = []
    for _, written in pairs.values():
        for before, cell in zip(written.cells, written.cells[1:], strict=False):
            if gives_points(cell):
                (number,) = re.findall(r'^assert "(.*?)"', cell.source, re.MULTILINE)
                assert before.id == f"exercise-{number.partition('.')[2]}-answer"
                points.append(number)
    assert sorted(points) == sorted(CHECKS)


def grade(course, *steps):
    for step in steps:
        command = [sys.executable, "-m", "nbgrader", step, "04"]
        done = subprocess.run(command, cwd=course, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_nbgrader_gives_a_point_for_a_right_answer_alone(handed_out, tmp_path, monkeypatch):
    """Also where the learner has changed the cell that gives the point."""
    from nbgrader.api import Gradebook

    # nbgrader calls alembic by its name.
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    pairs, _ = handed_out
    name = "04_override_backward.ipynb"
    ours, sheet = pairs[name]
    source, returned = tmp_path / "source/04", tmp_path / "submitted/ada/04"
    for folder in (source, returned):
        folder.mkdir(parents=True)
    nbformat.write(sheet, source / name)
    mine = nbformat.from_dict(sheet)
    cells = {cell.id: cell for cell in mine.cells}
    (right,) = (cell for cell in ours.cells if cell.id == "exercise-1-solution")
    cells["exercise-1-answer"].source = right.source
    cells["exercise-2-answer"].source = 'check("override_backward.2", lambda x: x.round())'
    cells["exercise-2-point"].source = "pass"
    nbformat.write(mine, returned / name)
    grade(tmp_path, "generate_assignment", "autograde")
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        (notebook,) = gradebook.find_submission("04", "ada").notebooks
        points = {grade.name: (grade.auto_score, grade.max_score) for grade in notebook.grades}
    assert points == {
        "override_backward-1": (1, 1),
        "override_backward-2": (0, 1),
        "override_backward-3": (0, 1),
    }
