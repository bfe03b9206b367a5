"""Every exercise accepts each right answer, and rejects each wrong one with its own message."""

import re

import answers
import nbformat
import pytest
import torch
from answers import CHECKS, RIGHT, WRONG, solutions

from lessons.asking.checking import check, judge, passed
from lessons.train_through_rounding import exercises as trainings
from tools.notebooks import lesson_of, notebook_files

# A place that is drawn: no number that is infinite, large or of another dtype.
WRONG_AT_A_PLACE = re.compile(
    r"(:|//) (value|gradient)( of x)? at x( / scale)? = [-\d.]{1,5}(, grad_output [-\d.]+)?:"
)


def shown(capsys, number, answer):
    """The verdict in one line, and the summary of the picture, or nothing."""
    check(number, answer)
    lines, _, picture = capsys.readouterr().out.partition("\nYours against")
    return lines.strip().replace("\n    ", " // "), picture


DEAR = {"the_report_card.1", "the_report_card.2", "surrogate_gradients.2", "six_estimators.2"}
LATER = [pytest.mark.slow]


def each_of(table):
    pairs = [
        pytest.param(
            number, name, id=f"{number}-{name}", marks=LATER * (number in DEAR and place > 0)
        )
        for number, answers in table.items()
        for place, name in enumerate(answers)
    ]
    return pytest.mark.parametrize("number, name", pairs)


@each_of(WRONG)
def test_a_wrong_answer_is_rejected_with_its_reason(number, name, capsys):
    answer, facts = WRONG[number][name]
    line, picture = shown(capsys, number, answer)
    assert line.startswith(f"✗ Exercise {number[-1]}: ")
    assert [fact for fact in facts.split(" … ") if fact not in line] == [], line
    first, _, numbers = line.partition(" // ")
    assert not (numbers and re.search("yours .*, expected", first)), "the sentence comes first"
    if CHECKS[number].draw_wrong and WRONG_AT_A_PLACE.search(line):
        assert picture.startswith(" the expected one: "), line


@each_of(RIGHT)
def test_a_right_answer_is_accepted(number, name):
    assert repr(judge(number, RIGHT[number][name])).startswith("✓")


def test_an_exercise_that_passed_once_has_passed(capsys):
    passed.clear()
    for answer, expected in [
        (2, set()),
        (1, {"round_and_clamp.2"}),
        (2, {"round_and_clamp.2"}),
        (..., {"round_and_clamp.2"}),
    ]:
        check("round_and_clamp.2", answer)
        assert passed == expected


@pytest.fixture
def no_training(monkeypatch):
    """As if every network of train_through_rounding.1 read 80 % of the digits."""
    monkeypatch.setattr(trainings, "train", lambda run: None)
    monkeypatch.setattr(trainings, "accuracy", lambda model: 80.0)


def moved(place, by):
    """A right answer to round_and_clamp.1, but for one number."""
    return [float(k == 1) + by * (k == place) for k in range(5)]


def one_for_100(name, temperature):
    return {1: ("softmax", 1.0), 100: (name, temperature), 10_000: ("with baseline", 1.0)}.get


NUMBERS = {  # number: (right, right beside the next ones; wrong)
    "round_and_clamp.1": (
        [moved(0, 0), torch.tensor(moved(0, 0))],
        [moved(k, by) for k in range(5) for by in (-1e-6, 1e-6)],
    ),
    "round_and_clamp.2": ([1, 1.0, torch.tensor(1.0)], [1 - 1e-6, 1 + 1e-6, 1.01, 0.99, -1]),
    "surrogate_gradients.3": (
        [0.67, 0.674, 0.6745, 0.67449, torch.tensor(0.67)],
        [0.6, 0.65, 0.66, 2 / 3, 0.6695, 0.6705, 0.6735, 0.6755, 0.68, 0.7],
    ),
    "six_estimators.2": (
        [one_for_100("Gumbel soft", 0.22), one_for_100("Gumbel hard", 0.68)],
        [one_for_100("Gumbel soft", 0.2), one_for_100("Gumbel hard", 0.72)],
    ),
}


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_beside_the_right_one_are_wrong(number):
    right, wrong = NUMBERS[number]
    assert {judge(number, answer).sign for answer in right} == {"✓"}
    assert [answer for answer in wrong if judge(number, answer).sign != "✗"] == []


@pytest.mark.parametrize("percent, sign", [(79.8, "✗"), (80.0, "✓")])
def test_a_network_reads_enough_digits(percent, sign, no_training, monkeypatch):
    monkeypatch.setattr(trainings, "accuracy", lambda model: percent)
    assert judge("train_through_rounding.1", solutions()["train_through_rounding.1"]).sign == sign


def changed(answer, change):
    """The answer, and the tensors and numbers that it returns are changed."""
    if isinstance(answer, type):
        name = "loss" if hasattr(answer, "loss") else "forward"
        made = type(answer.__name__, (answer,), {})
        setattr(made, name, changed(getattr(answer, name), change))
        return made

    def each(y):
        if isinstance(y, (tuple, list)):
            return type(y)(map(each, y))
        return change(y) if isinstance(y, torch.Tensor) else y

    return lambda *args: each(answer(*args))


# What is asked for is not what a function returns, or not exactly.
NO_TENSOR = answers.NUMBERS | {
    *("surrogate_gradients.2", "the_doctor.1", "six_estimators.2", "a_codebook.2")
}
EXACT = {
    "the_report_card.2",
    "which_gradient_a_choice_passes_on.1",
}  # a value that is rounded elsewhere is wrong
GRADIENTS = {
    *("zero.1", "parameter_or_variable.2", "gradients_of_gradients.1", "gradients_of_gradients.2"),
    *("clipping_and_half_precision.1", "clipping_and_half_precision.2", "surrogate_gradients.1"),
    *(
        "one_batch_in_pieces.1",
        *(f"backward_needs_a_gradient.{i}" for i in (1, 2)),
        "backward_again.1",
    ),
}


@pytest.mark.parametrize("number", sorted(CHECKS.keys() - NO_TENSOR))
def test_a_thousandth_more_is_wrong(number, no_training):
    right = solutions()[number]
    assert judge(number, changed(right, lambda y: y * 1.001)).sign == "✗"
    rounded = changed(right, lambda y: y * (1 + torch.finfo(y.dtype).eps))
    assert judge(number, rounded).sign == ("✗" if number in EXACT else "✓")


@pytest.mark.parametrize("number", sorted(CHECKS.keys() - NO_TENSOR - GRADIENTS))
def test_a_thousandth_more_of_the_gradient_is_wrong(number, no_training):
    def steeper(y):
        return y + (0.001 * (y - y.detach()) if y.requires_grad else 0)

    assert judge(number, changed(solutions()[number], steeper)).sign == "✗"


def not_written(*args):
    raise NotImplementedError


@pytest.mark.parametrize("answer", [..., lambda *args: ..., not_written])
def test_an_answer_that_is_not_written_is_not_done(answer, capsys):
    assert shown(capsys, "backward_needs_a_gradient.1", answer)[0].startswith(
        "… Exercise 1: Not done yet"
    )


@pytest.mark.parametrize("path", notebook_files()[1:], ids=lambda path: path.stem)
def test_stored_solutions_are_accepted_and_stubs_are_not_done(path):
    shown = {cell.id: cell.get("outputs") for cell in nbformat.read(path, as_version=4).cells}
    for number in (number for number in CHECKS if number.startswith(f"{lesson_of(path)}.")):
        i = number.partition(".")[2]
        for cell, verdict in (("solution", "✓ "), ("answer", "… ")):
            said = [out.data for out in shown[f"exercise-{i}-{cell}"] if out.get("data")]
            assert said[0]["text/plain"].startswith(f"{verdict}Exercise {i}: "), cell
