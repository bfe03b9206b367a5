"""Every exercise accepts its solution and rejects each wrong answer with its own message."""

import re

import nbformat
import pytest
from wrong_answers import WRONG

from helpers.lessons.checking import check
from helpers.lessons.exercises import EXERCISES
from tools.notebooks import notebook_files, sections, setup_cell


def said(capsys, number, answer):
    check(number, answer)
    (line,) = capsys.readouterr().out.splitlines()
    return line


CASES = [(number, name) for number, answers in WRONG.items() for name in answers]


@pytest.mark.parametrize("number, name", CASES, ids=[f"{n}-{name}" for n, name in CASES])
def test_a_wrong_answer_is_rejected_with_its_reason(number, name, capsys):
    answer, facts = WRONG[number][name]
    line = said(capsys, number, answer)
    assert line.startswith(f"✗ {number} ")
    assert re.search(".*".join(map(re.escape, facts.split(" … "))), line), line


def not_written(*args):
    raise NotImplementedError


@pytest.mark.parametrize("answer", [..., lambda *args: ..., not_written])
def test_an_answer_that_is_not_written_is_not_done(answer, capsys):
    assert said(capsys, "02.1", answer).startswith("… 02.1 is not done yet")


@pytest.mark.parametrize("number", EXERCISES)
def test_each_exercise_has_at_least_three_wrong_answers_told_apart(number):
    messages = [message for _, message in WRONG[number].values()]
    assert len(messages) >= 3
    assert len(set(messages)) == len(messages)


def exercise_cells(path):
    """The setup cell and the code cells of the section on exercises."""
    notebook = nbformat.read(path, as_version=4)
    section = dict(sections(notebook)).get("Exercises", [])
    return [setup_cell(notebook), *(cell for cell in section if cell.cell_type == "code")]


SOLVED = [path for path in notebook_files() if len(exercise_cells(path)) > 1]


@pytest.mark.parametrize("path", SOLVED, ids=lambda path: path.stem)
def test_solutions_are_accepted_and_stubs_are_not_done(path, capsys):
    names, verdicts = {}, {}
    for cell in exercise_cells(path):
        exec(cell.source, names)
        verdicts[cell.id] = capsys.readouterr().out
    numbers = [number for number in EXERCISES if number.startswith(path.name[:2])]
    for i, number in enumerate(numbers, 1):
        assert verdicts[f"exercise-{i}-solution"].startswith(f"✓ {number} ")
        assert verdicts[f"exercise-{i}-answer"].startswith(f"… {number} is not done yet")


def test_every_exercise_is_in_its_notebook():
    text = {path.name[:2]: path.read_text(encoding="utf-8") for path in notebook_files()}
    for number in EXERCISES:
        assert f'exercise(\\"{number}\\")' in text[number[:2]]


@pytest.mark.parametrize("number", EXERCISES)
def test_a_card_says_what_a_learner_needs(number):
    card = EXERCISES[number]
    assert card.number == number and card.minutes >= 2 and len(card.hints) >= 2 and card.praise
    text = card._repr_markdown_()
    assert text.count("<details>") == len(card.hints)
    assert card.statement in text and f"about {card.minutes} minutes" in text
