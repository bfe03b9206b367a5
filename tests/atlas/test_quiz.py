"""The quiz: its questions, whether all that it says is true, and how it counts."""

import itertools
import re
from dataclasses import replace
from math import inf, isinf, isnan, nan

import pytest

from autograd_surprises.atlas import CLASSES, Measured, Probe, atlas, versions
from autograd_surprises.atlas.elementwise_operations import WELL_KNOWN
from autograd_surprises.atlas.notes import NOTES
from autograd_surprises.atlas.point import Point
from autograd_surprises.atlas.probe import close
from autograd_surprises.atlas.quiz_questions import Question, askable, choose_questions
from autograd_surprises.numerics import few_digits
from lessons.prediction import STORED
from lessons.quiz import Quiz

EVERY = [
    Question(measured.expression, point, measured.probes[point], halves_ties=True)
    for version in versions()
    for measured in atlas(version).operations.values()
    for point in askable(measured)
]
EVENTS = set(list(CLASSES)[3:])
AT_A_TIE = "That is the mean of both slopes, as `torch.maximum` returns at a tie."
# What is said of an option -> is it true?
WRONG = {
    "That is the slope on both sides.": lambda n, p: p.left == n == p.right,
    "That is the slope on the left.": lambda n, p: p.left == n != p.right,
    "That is the slope on the right.": lambda n, p: p.left != n == p.right,
    AT_A_TIE: lambda n, p: n == (p.left + p.right) / 2 and p.left != p.right,
    "That is the mean of both slopes.": lambda n, p: n == (p.left + p.right) / 2,
    "The size is right, the sign is not.": lambda n, p: n == -p.gradient and n != 0,
    "The value is nan, but the gradient is not.": lambda n, p: (
        isnan(p.value) and isnan(n) and not isnan(p.gradient)
    ),
    "nan would mean that backward computes something like 0 / 0.": lambda n, p: isnan(n),
    "A jump is infinitely steep, but backward does not see it.": lambda n, p: (
        n == inf and p.below != p.above and not isnan(p.gradient) and not isinf(p.gradient)
    ),
    "inf would mean that the slope grows without bound here.": lambda n, p: n == inf,
    "0 would mean that no gradient passes here.": lambda n, p: n == 0,
    "1 would pass the upstream gradient on unchanged.": lambda n, p: n == 1,
}
NUMBER = r"(-?(?:\d[\d.]*|inf|nan))"
PICKED = {
    "the slope on the left": lambda p: p.left,
    "the slope on the right": lambda p: p.right,
    "their mean": lambda p: (p.left + p.right) / 2,
    "neither, but 0": lambda p: 0.0,
}
ON_SIDE = {"both sides": [True, True], "the left": [True, False], "the right": [False, True]}
RIGHT = {
    f"Two slopes meet, {NUMBER} and {NUMBER}\\. Autograd returns (.*)\\.": lambda p, *said: (
        said == (few_digits(p.left), few_digits(p.right), said[2])
        and close(p.gradient, PICKED[said[2]](p))
        and p.left != p.right
    ),
    f"The value jumps from {NUMBER} to {NUMBER}, and the gradient is the slope on (.*)\\.": (
        lambda p, below, above, side: (
            (below, above) == (few_digits(p.below), few_digits(p.above))
            and [p.left == p.gradient, p.right == p.gradient] == ON_SIDE[side]
        )
    ),
    f"The value is {NUMBER}, and the slope beside it grows without bound\\.": lambda p, said: (
        said == few_digits(p.value) and isinf(p.gradient) and p.gradient in (p.left, p.right)
    ),
    f"The value is {NUMBER}, and the gradient is infinite\\.": lambda p, said: (
        said == few_digits(p.value) and isinf(p.gradient)
    ),
    f"The value is {NUMBER}, but backward computes something undefined, such as 0 · inf\\.": (
        lambda p, said: said == few_digits(p.value) and isnan(p.gradient) and not isnan(p.value)
    ),
    "The value is nan, but the gradient is a number\\.": lambda p: (
        isnan(p.value) and not isnan(p.gradient)
    ),
    f"Autograd returns a number that differs from the slope {NUMBER}(?:: .*)?\\.": (
        lambda p, said: float(said) in (p.left, p.right) and float(said) != p.gradient
    ),
}  # fmt: skip


def test_all_that_an_option_is_said_to_be_is_true():
    said = set()
    for question in EVERY:
        for option, why in question.options.items():
            if option == question.right:
                found = [(form, re.fullmatch(form, why)) for form in RIGHT]
                ((form, match),) = [each for each in found if each[1]]
                assert RIGHT[form](question.probe, *match.groups()), (question, why)
                said.add(form)
            else:
                assert WRONG[why](float(option), question.probe), (question, option, why)
                said.add(why)
    assert said >= {*WRONG, *RIGHT} - {"That is the mean of both slopes."}


def test_every_question_has_its_answer_among_a_few_distinct_options():
    for question in EVERY:
        options = list(question.options)
        assert 3 <= len(options) <= 5 and options.count(few_digits(question.probe.gradient)) == 1
        assert len(set(question.options.values())) == len(options)
        numbers = list(map(float, options))
        assert numbers == sorted(numbers, key=lambda n: (isnan(n), n))
        assert all(len(option.lstrip("-")) <= 4 for option in options)
        assert question.probe.kind in EVENTS


def test_the_tie_is_named_while_it_is_so():
    for version in versions():
        for question in choose_questions(atlas(version), 10, seed=2):
            assert question.halves_ties
    numbers = atlas("2.15").operations
    one = numbers["torch.maximum(x, one)"]
    changed = replace(one, probes={**one.probes, "1": replace(one.probes["1"], gradient=0.0)})
    numbers = replace(atlas("2.15"), operations={**numbers, one.expression: changed})
    assert not any(question.halves_ties for question in choose_questions(numbers, 10, seed=2))
    abs_at_0 = Question("f(x)", Point("0"), Probe(0, 1, -1, 1, 0, 0), halves_ties=False)
    assert "torch.maximum" not in abs_at_0.options["0"]
    assert "torch.maximum" in replace(abs_at_0, halves_ties=True).options["0"]


def test_backward_that_returns_nan_at_a_jump_is_not_said_to_be_blind():
    jump = Probe(value=0, gradient=nan, left=0, right=0, below=-1, above=1)
    assert "jump" not in Question("f(x)", Point("0"), jump, halves_ties=True).options["inf"]


def test_a_note_is_said():
    for question in EVERY:
        if question.probe.kind == "not the slope" and question.expression in NOTES:
            assert NOTES[question.expression] in question.options[question.right]


@pytest.mark.parametrize("version", versions())
def test_many_seeds_give_several_kinds_and_no_operation_twice(version):
    for seed in range(4):
        chosen = choose_questions(atlas(version), 10, seed)
        names = [question.expression.partition("(")[0].rpartition(".")[2] for question in chosen]
        assert len(set(names)) == len(names) == 10
        for each in chosen:
            assert each.probe == atlas(version).operations[each.expression].probes[each.point]
        kinds = [question.probe.kind for question in chosen]
        assert len(set(kinds)) >= 4 and kinds.count("kink") <= 4
    assert chosen == choose_questions(atlas(version), 10, seed)
    assert chosen != choose_questions(atlas(version), 10, seed + 1)


@pytest.mark.parametrize("version", versions())
def test_a_quiz_begins_with_what_people_know(version):
    for seed in (0, 3):
        relu, clamp, absolute, *_ = choose_questions(atlas(version), 10, seed)
        assert (relu.expression, relu.point) == ("torch.relu(x)", "0")
        assert clamp.expression == "torch.clamp(x, -1, 1)" and clamp.point in ("-1", "1")
        assert (absolute.expression, absolute.point) == ("torch.abs(x)", "0")
    first = [
        question.expression
        for seed in range(3)
        for question in choose_questions(atlas(version), 10, seed)[:3]
    ]
    assert tuple(first) == WELL_KNOWN, "each of three rounds begins with others"
    for seed in range(3, 7):
        for question in choose_questions(atlas(version), 10, seed)[:3]:
            assert question.point not in ("nan", "inf")


def made(point="0", elsewhere=None, **numbers):
    point = Point(point)
    probe = Probe(**{"value": 0, "below": nan, "above": nan, "side": point.side, **numbers})
    return Measured("torch.bend(x)", "BendBackward0", "", {point: probe}, elsewhere or {})


@pytest.mark.parametrize(
    "gradient, right",
    [(0.0, "their mean"), (1.0, "the slope on the right"), (-1.0, "the slope on the left")],
)
def test_another_gradient_makes_another_option_right(gradient, right):
    one = made(gradient=gradient, left=-1.0, right=1.0)
    numbers = replace(atlas("2.15"), operations={one.expression: one})
    (question,) = choose_questions(numbers, 1, seed=0)
    assert question.right == few_digits(gradient) and list(question.options) == [
        "-1", "0", "1", "inf", "nan",
    ]  # fmt: skip
    assert right in question.options[question.right]


def test_what_is_not_quickly_read_or_not_everywhere_so_is_not_asked():
    kink = {"gradient": 0.0, "left": -1.0, "right": 1.0}
    assert askable(made(**kink)) == ["0"]
    for point in ("<0", "-0", "-inf", "0.33333", "-1e-08"):
        assert askable(made(point, **kink)) == []
    assert askable(made(**{**kink, "right": 0.33333})) == []
    assert askable(made(**{**kink, "gradient": 2e6})) == []
    assert askable(made(elsewhere={"float32": {"0": (0.0, 1.0)}}, **kink)) == []
    assert askable(made(value=0, gradient=1.0, left=1.0, right=1.0)) == []


def test_a_question_says_which_names_are_tensors():
    text_of = {question.expression: question.text for question in EVERY}
    assert text_of["torch.hardshrink(x)"].endswith("`torch.hardshrink(x)` at x = 0.5?")
    assert text_of["F.margin_ranking_loss(x, one, one, reduction='none')"].endswith(
        " at x = nan? (`one` is a tensor.)"
    )
    assert text_of["torch.clamp(x, minus_one, one)"].endswith(
        "? (`minus_one` and `one` are tensors.)"
    )


@pytest.mark.parametrize("count", [0, -1, 500])
def test_a_count_that_cannot_be_is_refused(count):
    with pytest.raises(ValueError, match=f"count={count}: there are 1 to "):
        Quiz(count=count, version="2.15")


def wrong(quiz):
    return next(option for option in quiz.options if option != quiz.right)


@pytest.fixture
def quiz():
    return Quiz(count=3, seed=5, version="2.15")


def test_the_first_answer_counts(quiz):
    assert quiz.score == "0 right of 0" and "Question 1 of 3." in quiz.status.value
    quiz.answer(quiz.right)
    assert quiz.score == "1 right of 1" and "Question 1 of 3. 1 right of 1." in quiz.status.value
    quiz.answer(wrong(quiz))
    assert quiz.score == "1 right of 1" and "✗" in quiz.prediction.explanation.value
    quiz.next()
    assert "Question 2 of 3. 1 right of 1." in quiz.status.value
    quiz.answer(wrong(quiz))
    quiz.answer(quiz.right)
    assert quiz.score == "1 right of 2" and "✓" in quiz.prediction.explanation.value


def test_next_waits_for_an_answer(quiz, caplog):
    first = quiz.question
    assert quiz.button.disabled and quiz.button.description == "Next"
    with pytest.raises(ValueError, match="answer this question first: .*, nan"):
        quiz.next()
    quiz.answer(quiz.right)
    assert not quiz.button.disabled
    quiz.button.click()
    assert quiz.button.disabled and quiz.question != first
    second = quiz.question
    quiz.button.click()
    assert quiz.question == second and not caplog.records  # an error in a click is only logged
    assert quiz.sheet.children == (quiz.prediction.box,)


@pytest.mark.parametrize("answers", [*itertools.product([True, False], repeat=3)])
def test_the_score_counts_the_right_first_answers(answers):
    quiz = Quiz(count=3, seed=5, version="2.15")
    for i, right in enumerate(answers):
        assert f"Question {i + 1} of 3." in quiz.status.value
        quiz.answer(quiz.right if right else wrong(quiz))
        assert quiz.score == f"{sum(answers[: i + 1])} right of {i + 1}"
        assert quiz.score in quiz.status.value
        if i < 2:
            quiz.next()


def test_after_the_last_question_it_begins_anew(quiz):
    asked = []
    for i in range(3):
        asked.append(quiz.question)
        quiz.answer(quiz.right if i else wrong(quiz))
        assert quiz.button.description == ("Again" if i == 2 else "Next")
        assert ("The end: 2 right of 3." in quiz.status.value) == (i == 2)
        if i < 2:
            quiz.next()
    quiz.next()
    assert quiz.seed == 6 and quiz.score == "0 right of 0" and quiz.button.disabled
    assert quiz.question not in asked and quiz.button.description == "Next"
    assert quiz.question == Quiz(count=3, seed=6, version="2.15").question
    assert "Question 1 of 3.<" in quiz.status.value


def test_what_is_no_option_is_refused(quiz):
    with pytest.raises(ValueError, match="'0.7' is not an option: choose from .*, nan"):
        quiz.answer("0.7")
    assert quiz.button.disabled and quiz.score == "0 right of 0"


def test_it_shows_itself_with_and_without_a_browser(quiz, capsys):
    shown, _ = quiz._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert shown["text/plain"] == repr(quiz)
    stored = [(each["question"], dict(each["options"])) for each in shown[STORED]]
    assert stored == [(each.text, each.options) for each in quiz.questions]
    assert [each["right"] for each in shown[STORED]] == [each.right for each in quiz.questions]
    lines = repr(quiz).splitlines()
    assert lines[0] == quiz.question and lines[1:] == [f"  ( ) {each}" for each in quiz.options]
    quiz.answer(quiz.right)
    quiz.button.click()
    assert capsys.readouterr().out == ""
    assert quiz.children == (quiz.sheet, quiz.button, quiz.status)
    assert 'role="status"' in quiz.status.value


def test_the_installed_torch_is_asked_about():
    assert Quiz(count=1).numbers == atlas()
