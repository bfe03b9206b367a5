"""Predictions, live errors, and how check answers."""

import json
import warnings

import pytest
import torch

from autograd_surprises.show.badge import GREY, RED, Badge
from autograd_surprises.show.table import Table
from helpers.lessons.checking import Verdict, check, exercise
from helpers.lessons.expectations import expect_error, expect_warning
from helpers.lessons.installation import missing_packages
from helpers.lessons.prediction import STORED, predict


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


def test_expect_error_fails_on_another_message():
    another = pytest.raises(AssertionError, match="expected a message with 'bad', but got")
    with another, expect_error(ValueError, match="bad"):
        raise ValueError("good")


def test_expect_warning_prints_it_and_cuts_the_path_of_the_build(capsys):
    with expect_warning(UserWarning, match="careful"):
        warnings.warn("be careful. (Triggered internally at /a/b.cpp:1.)", stacklevel=1)
    assert capsys.readouterr().out == "UserWarning: be careful.\n"


def test_expect_warning_fails_without_one_and_passes_others_on():
    passed_on = pytest.warns(DeprecationWarning, match="old")
    missed = pytest.raises(AssertionError, match="no such warning came")
    with passed_on, missed, expect_warning(UserWarning, match="careful"):
        warnings.warn("old", DeprecationWarning, stacklevel=1)


OPTIONS = {0.0: "flat, as in `round`", 1.0: "steep & <b>wrong</b>", None: "nothing"}


@pytest.mark.parametrize(
    "answer, right", [(0.0, "0.0"), (torch.tensor(1.0), "1.0"), (None, "None")]
)
def test_the_right_option_is_the_measured_one(answer, right):
    question = predict("What is `x.grad`?", OPTIONS, answer=answer)
    assert question.explanation.value == ""
    assert question.choice.value is None
    for option in ("0.0", "1.0", "None"):
        question.choice.value = option
        mark = "✓" if option == right else "✗"
        assert question.explanation.value.startswith('<div role="status"><b ')
        assert f">{mark}</b> " in question.explanation.value


def test_each_option_has_its_own_explanation():
    question = predict("What is `x.grad`?", OPTIONS, answer=0.0)
    question.choice.value = "0.0"
    assert "flat, as in <code>round</code>" in question.explanation.value
    question.choice.value = "1.0"
    assert "steep &amp; &lt;b&gt;wrong&lt;/b&gt;" in question.explanation.value


@pytest.mark.parametrize("answer", [7, "0", [0.0]])
def test_a_question_without_its_answer_is_refused(answer):
    with pytest.raises(ValueError, match="one option has to equal the answer .*, but 0 of"):
        predict("?", OPTIONS, answer=answer)


def test_a_question_with_two_right_answers_is_refused():
    with pytest.raises(ValueError, match="but 2 of"):
        predict("?", {0.0: "a", "0.0": "b"}, answer=0.0)


def test_a_question_reads_well_without_widgets():
    data = predict("What?", {"a": "x", "b": "y"}, answer="a")._repr_mimebundle_()
    assert data["text/plain"] == "What?\n  ( ) a\n  ( ) b"
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_question_is_stored_for_a_page_without_a_kernel():
    data = predict("What?", {"b": "x", "a": "y"}, answer="a")._repr_mimebundle_()
    asked = {"question": "What?", "options": [["b", "x"], ["a", "y"]], "right": "a"}
    assert json.loads(json.dumps(data[STORED], sort_keys=True)) == [asked]


def test_check_never_raises(capsys):
    def broken(x):
        raise ZeroDivisionError("by zero\nsecond line")

    check("04.1", broken)
    assert capsys.readouterr().out == "✗ 04.1 your code raised ZeroDivisionError: by zero\n"


@pytest.mark.parametrize(
    "answer, text, colour",
    [
        (torch.relu, "✗ 04.1", RED),
        (..., "… 04.1", GREY),
        (lambda x: 1 / 0, "✗ 04.1", RED),
    ],
)
def test_a_notebook_shows_the_verdict_in_colour(answer, text, colour, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    check("04.1", answer)
    (verdict,) = shown
    assert verdict._repr_html_().startswith(f'<div role="status">{Badge(text, colour).html} ')
    assert repr(verdict).startswith(f"{text} ") and capsys.readouterr().out == ""


def test_a_verdict_is_escaped():
    assert Verdict("✗", "04.1", "x < 0")._repr_html_().endswith("</b> x &lt; 0</div>")


def test_an_unknown_exercise_is_refused():
    for call in (exercise, lambda number: check(number, 1)):
        with pytest.raises(ValueError, match="there is no exercise '99.1', only 01.1"):
            call("99.1")


def test_a_warning_that_torch_gives_once_comes_whenever_it_is_expected(capsys):
    for _ in range(2):
        with expect_warning(UserWarning, match="reference cycle"):
            x = torch.ones(1, requires_grad=True)
            (x**2).backward(create_graph=True)
            x.grad = None  # breaks the cycle that the warning is about
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert not torch.is_warn_always_enabled()


def test_a_table_in_markdown_and_in_a_terminal():
    table = Table.of({"a": {"n": 1, "ok": True}, "bb": {"n": 22, "ok": False}}, corner="name")
    assert repr(table) == "name  n   ok\na     1   yes\nbb    22  no"
    assert table._repr_markdown_().splitlines()[2] == "| a | 1 | yes |"


@pytest.fixture
def installed(monkeypatch):
    """Pretend that these requirements and versions are what is installed."""
    from importlib import metadata

    def pretend(requirements, versions):
        def version(name):
            if name not in versions:
                raise metadata.PackageNotFoundError(name)
            return versions[name]

        def requires(name):
            if requirements is None:
                raise metadata.PackageNotFoundError(name)
            return requirements

        monkeypatch.setattr("helpers.lessons.installation.metadata.version", version)
        monkeypatch.setattr("helpers.lessons.installation.metadata.requires", requires)
        return missing_packages()

    return pretend


def test_installation_check_names_the_remedy(installed):
    wanted = ["torch>=2.6", "ipywidgets<9,>=8.1", 'nbval>=0.11; extra == "test"']
    assert installed(wanted, {"torch": "2.13.0+cpu", "ipywidgets": "8.1.9"}) == []
    (old,) = installed(wanted, {"torch": "2.5", "ipywidgets": "8.1.9"})
    assert old.startswith("torch 2.5 does not fit: ") and old.endswith("pip install 'torch>=2.6'")
    (missing,) = installed(wanted, {"torch": "2.13.0"})
    assert missing.startswith("ipywidgets is missing: ")
    (itself,) = installed(None, {})
    assert itself.endswith("pip install -e .")
