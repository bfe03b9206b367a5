"""Every exercise accepts its solution and rejects each wrong answer with its own message."""

import re

import nbformat
import pytest
from wrong_answers import WRONG

from lessons.checking import check
from lessons.exercises import CHECKS, notebook_06, notebook_07, notebook_12
from tools.notebooks import notebook_files, sections, setup_cell, task_of

# A place that is drawn: no number that is infinite, large or of another dtype.
WRONG_AT_A_PLACE = re.compile(
    r"✗ ..\.. (value|gradient)( of x)? at x( / scale)? = [-\d.]{1,5}(, grad_output [-\d.]+)?:"
)


def shown(capsys, number, answer):
    """The line of the verdict, and the summary of the picture, or nothing."""
    check(number, answer)
    line, _, picture = capsys.readouterr().out.partition("\n")
    return line, picture


ANSWERS = [(number, name) for number, answers in WRONG.items() for name in answers]


@pytest.mark.parametrize("number, name", ANSWERS, ids=[f"{n}-{name}" for n, name in ANSWERS])
def test_a_wrong_answer_is_rejected_with_its_reason(number, name, capsys):
    answer, facts = WRONG[number][name]
    line, picture = shown(capsys, number, answer)
    assert line.startswith(f"✗ {number} ")
    assert re.search(".*".join(map(re.escape, facts.split(" … "))), line), line
    if CHECKS[number].draw_wrong and WRONG_AT_A_PLACE.match(line):
        assert picture.startswith("Yours against the expected one: "), line


LIMITS = {
    "06.2": f"at most {notebook_06.MOST_STEPS} steps",
    "07.1": f"at least {notebook_07.ENOUGH} %",
    "12.2": f"at most {notebook_12.TOLERANCE - 1:.0%} larger",
}


@pytest.mark.parametrize("number", LIMITS)
def test_a_task_states_the_limit_of_its_check(number):
    cells = [cell for path in notebook_files() for cell in nbformat.read(path, 4).cells]
    (text,) = (cell.source for cell in cells if (task := task_of(cell)) and task.number == number)
    assert LIMITS[number] in text


def not_written(*args):
    raise NotImplementedError


@pytest.mark.parametrize("answer", [..., lambda *args: ..., not_written])
def test_an_answer_that_is_not_written_is_not_done(answer, capsys):
    assert shown(capsys, "02.1", answer)[0].startswith("… 02.1 is not done yet")


@pytest.mark.parametrize("number", CHECKS)
def test_each_exercise_has_at_least_three_wrong_answers_with_messages_of_their_own(number):
    messages = [message for _, message in WRONG[number].values()]
    assert len(messages) >= 3
    assert len(set(messages)) == len(messages)


def exercise_sections(path):
    """The code cells of each section with an exercise, below the setup cell."""
    notebook = nbformat.read(path, as_version=4)
    for _, cells in sections(notebook):
        code = [cell for cell in cells if cell.cell_type == "code"]
        if any("check(" in cell.source for cell in code):
            yield [setup_cell(notebook), *code]


@pytest.mark.parametrize("path", notebook_files()[1:], ids=lambda path: path.stem)
def test_solutions_are_accepted_and_stubs_are_not_done(path, capsys):
    verdicts = {}
    for cells in exercise_sections(path):
        names = {}
        for cell in cells:
            exec(cell.source, names)
            verdicts[cell.id] = capsys.readouterr().out
    numbers = [number for number in CHECKS if number.startswith(path.name[:2])]
    assert numbers
    for number in numbers:
        i = number.partition(".")[2]
        assert verdicts[f"exercise-{i}-solution"].startswith(f"✓ {number} ")
        assert verdicts[f"exercise-{i}-answer"].startswith(f"… {number} is not done yet")
