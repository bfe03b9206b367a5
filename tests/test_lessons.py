"""Predictions, live errors, and how check answers."""

import inspect
import json
import re
import warnings

import nbformat
import numpy as np
import pytest
import torch

from autograd_surprises.facts.toml_data import tomllib
from autograd_surprises.show.colours import GREY, RED
from autograd_surprises.show.findings import badge
from cases.small.functions import Square
from lessons.asking.checking import Verdict, check, judge
from lessons.asking.expectations import expect_error, expect_warning
from lessons.asking.prediction import STORED, Prediction
from tools.notebooks import ROOT, notebook_files


@pytest.mark.parametrize("more", ["", "\nand its details", ". Use something else.", ". (At a.py)"])
def test_expect_error_prints_the_first_sentence(capsys, more):
    with expect_error(ValueError, match="bad"):
        raise ValueError("a bad thing, torch.Size([2])" + more)
    said = capsys.readouterr().out.rstrip("\n")
    assert said.rstrip(".") == "ValueError: a bad thing, torch.Size([2])"


def test_expect_error_fails_when_nothing_is_raised():
    nothing = pytest.raises(AssertionError, match="expected ValueError, but nothing was raised")
    with nothing, expect_error(ValueError, match="bad"):
        pass


@pytest.mark.parametrize("error", [TypeError("bad"), KeyError("bad"), AssertionError("bad")])
def test_expect_error_fails_on_another_kind(error):
    another = pytest.raises(AssertionError, match="expected ValueError, but got")
    with another, expect_error(ValueError, match="bad"):
        raise error


def test_expect_warning_prints_it_and_cuts_the_path_of_the_build(capsys):
    with expect_warning(UserWarning, match="careful"):
        warnings.warn("be careful. (Triggered internally at /a/b.cpp:1.)", stacklevel=1)
    assert capsys.readouterr().out == "UserWarning: be careful.\n"


def test_expect_warning_fails_without_one_and_passes_others_on():
    passed_on = pytest.warns(DeprecationWarning, match="old")
    missed = pytest.raises(AssertionError, match="no such warning came")
    with passed_on, missed, expect_warning(UserWarning, match="careful"):
        warnings.warn("old", DeprecationWarning, stacklevel=1)


OPTIONS = {"0.0": "flat, as in `round`", "1.0": "steep & <b>wrong</b>", "None": "nothing"}
SHOWN = "flat, as in <code>round</code>", "steep &amp; &lt;b&gt;wrong&lt;/b&gt;", "nothing"


@pytest.mark.parametrize(
    "answer, right", [(0.0, "0.0"), (torch.tensor(1.0), "1.0"), (None, "None")]
)
def test_the_right_option_is_the_measured_one(answer, right):
    question = Prediction(f"What is `x.grad` of {answer}?", OPTIONS, answer=answer)
    assert question.explanation.value == ""
    assert question.choice.value is None
    for option, why in zip(OPTIONS, SHOWN, strict=True):
        question.choice.value = option
        assert question.explanation.value.startswith('<div role="status"><b ')
        assert f">{'✗✓'[option == right]}</b> {why}" in question.explanation.value


def test_a_question_that_runs_again_keeps_its_answer():
    asked = "Asked twice?", {"yes": "Right.", "no": "Wrong."}, "yes"
    Prediction(*asked).choice.value = "no"
    again, other = Prediction(*asked), Prediction("Asked once?", *asked[1:])
    assert again.choice.value == "no" and "Wrong." in again.explanation.value
    assert other.choice.value is None and other.explanation.value == ""
    changed = Prediction("Asked twice?", {"yes": "Right.", "maybe": "Wrong."}, "yes")
    assert changed.choice.value is None


@pytest.mark.parametrize("answer", [7, "0", [0.0]])
def test_a_question_without_its_answer_is_refused(answer):
    with pytest.raises(ValueError, match="no option reads as the answer"):
        Prediction("?", OPTIONS, answer=answer)


def test_each_question_is_asked_by_one_cell():
    known = {
        f"{file.parent.name}.{name}"
        for file in ROOT.glob("lessons/*/questions.toml")
        for name in tomllib.loads(file.read_text(encoding="utf-8"))
    }
    cells = (cell for path in notebook_files() for cell in nbformat.read(path, 4).cells)
    asked = [name for cell in cells for name in re.findall(r'predict\(\s*"(.+?)"', cell.source)]
    assert sorted(asked) == sorted(known)


def test_a_question_reads_well_without_widgets():
    data = Prediction("What?", {"a": "x", "b": "y"}, answer="a")._repr_mimebundle_()
    assert data["text/plain"] == "What?\n  ( ) a\n  ( ) b\nRun this cell to answer."
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_question_is_stored_for_a_page_without_a_kernel():
    data = Prediction("What?", {"b": "x", "a": "y"}, answer="a")._repr_mimebundle_()
    asked = {"question": "What?", "options": [["b", "x"], ["a", "y"]], "right": "a"}
    assert json.loads(json.dumps(data[STORED], sort_keys=True)) == [asked]


def test_the_explanation_of_the_measured_answer_says_that_it_is_right():
    """Or explanations are swapped, or something else is measured than the text is about."""
    cells = (cell for path in notebook_files() for cell in nbformat.read(path, 4).cells)
    outputs = (output for cell in cells for output in cell.get("outputs", []))
    stored = [output["data"][STORED] for output in outputs if STORED in output.get("data", {})]
    assert len(stored) > 100
    for asked in (questions[0] for questions in stored if len(questions) == 1):
        said = [option for option, why in asked["options"] if re.match("Right|Yes, and it is", why)]
        assert said == [asked["right"]], asked["question"]


def test_a_broken_answer_raises_nothing(capsys):
    def broken(x):
        raise ZeroDivisionError("by zero\nsecond line")

    check("override_backward.1", broken)
    said = capsys.readouterr().out
    assert re.fullmatch(r"✗ Exercise 1: your code raised ZeroDivisionError in .*: by zero\n", said)


def raises_in_forward(x):
    return x.clamp(0, 1).no_such_method()


class RaisesInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(0, 1)

    @staticmethod
    def backward(ctx, grad_output):
        scale = torch.ones(3)
        return scale * grad_output


@pytest.mark.parametrize(
    "answer, line, source",
    [
        (raises_in_forward, 1, "return x.clamp(0, 1).no_such_method()"),
        (RaisesInBackward.apply, 8, "return scale * grad_output"),
    ],
)
def test_an_error_in_your_code_names_its_line(answer, line, source):
    owner = RaisesInBackward if answer == RaisesInBackward.apply else answer
    number = inspect.getsourcelines(owner)[1] + line
    said = judge("override_backward.1", answer).why
    assert f" in test_lessons.py:{number}, `{source}`: " in said


def test_an_error_in_a_cell_names_the_line_of_the_cell(tmp_path):
    cell = tmp_path / "ipykernel_123" / "456.py"  # the name that IPython gives a cell
    cell.parent.mkdir()
    cell.write_text("def leaky_clamp(x):\n    y = x.clamp(0, 1)\n    return y.item()\n")
    names = {}
    exec(compile(cell.read_text(), str(cell), "exec"), names)
    said = judge("override_backward.1", names["leaky_clamp"]).why
    assert said.startswith("your code raised RuntimeError in line 3, `return y.item()`: a Tensor")


def test_an_error_that_no_line_of_yours_raised_names_none():
    class TooMany(RaisesInBackward):
        @staticmethod
        def backward(ctx, grad_output):
            return grad_output, grad_output, grad_output

    said = judge("override_backward.1", TooMany.apply).why
    assert said.startswith("the check cannot use what your code returned, a float32 tensor of ")
    assert ": RuntimeError: function TooManyBackward returned" in said


def shifted(x):
    print("called")
    return x.clamp(0, 1) + 1


def test_a_wrong_curve_is_drawn_against_the_expected_one(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    check("override_backward.1", shifted)
    verdict, picture = shown
    assert verdict.sign == "✗"
    assert picture.summary.startswith("Yours against the expected one: values differ from -1.5 to")
    value_ax, gradient_ax = picture.axes
    yours, expected = (line.get_ydata() for line in value_ax.lines if len(line.get_xdata()) > 9)
    assert np.nanmin(yours) == 1 and np.nanmax(yours) == 2
    assert np.nanmin(expected) == 0 and np.nanmax(expected) == 1
    assert gradient_ax.get_title() == "gradient: not as expected"  # it does not leak
    names = [text.get_text() for text in picture.legends[0].get_texts()]
    assert names == ["your value", "your gradient", "expected"]
    assert capsys.readouterr().out.count("called") <= 2, "drawing it prints again"


class SquareOfNumber(Square):
    """The right curve, but its second derivative is 0."""

    @staticmethod
    def backward(ctx, grad_output):
        return Square.backward(ctx, grad_output).detach()


@pytest.mark.parametrize("answer, sign", [(Square.apply, "✓"), (SquareOfNumber.apply, "✗")])
def test_a_curve_that_is_right_is_not_drawn(answer, sign, capsys):
    check("override_backward.3", answer)
    (verdict,) = capsys.readouterr().out.splitlines()
    assert verdict.startswith(sign)


@pytest.mark.parametrize(
    "answer, text, colour",
    [
        (torch.relu, "✗ Exercise 1", RED),
        (..., "… Exercise 1", GREY),
        (lambda x: 1 / 0, "✗ Exercise 1", RED),
    ],
)
def test_a_notebook_shows_the_verdict_in_colour(answer, text, colour, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    check("override_backward.1", answer)
    verdict = shown[0]
    assert verdict._repr_html_().startswith(f'<div role="status">{badge(text, colour)} ')
    assert repr(verdict).startswith(f"{text}: ") and capsys.readouterr().out == ""


def test_a_verdict_is_escaped():
    assert Verdict("✗", "zero.1", "x < 0")._repr_html_().endswith("</b> x &lt; 0</div>")


def test_an_unknown_exercise_is_refused():
    with pytest.raises(ValueError, match="there is no exercise '99.1'; one is"):
        check("99.1", 1)


def test_a_warning_that_torch_gives_once_comes_whenever_it_is_expected(capsys):
    for _ in range(2):
        with expect_warning(UserWarning, match="reference cycle"):
            x = torch.ones(1, requires_grad=True)
            (x**2).backward(create_graph=True)
            x.grad = None  # breaks the cycle that the warning is about
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert not torch.is_warn_always_enabled()
