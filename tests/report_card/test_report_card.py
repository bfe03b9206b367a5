"""The card itself: as text, as a table and as data; and the world around it, left as it was."""

import logging
import pickle
import random
import subprocess
import sys
import warnings
from pathlib import Path

import faulty
import pytest
import torch

from autograd_surprises.report_card import (
    ReportCard,
    Row,
    compiled,
    processes,
    report_card,
    subject,
)
from autograd_surprises.report_card.differences import flat, numeric_slopes
from autograd_surprises.report_card.subject import Subject

x = torch.linspace(-2, 2, 9)
TORCH = tuple(map(int, torch.__version__.split("+")[0].split(".")[:2]))


def identity(x):
    return x


# ---- As text, as a table and as data


def test_a_card_is_text():
    lines = str(report_card(faulty.NoJvp.apply, x)).splitlines()
    assert lines[0] == (
        "report card of NoJvp.apply: 24 of 28 work, 4 refused; 6 skipped: pass compile=True and"
    )
    assert lines[1] == "  processes=True"
    assert lines[2].startswith(
        "REFUSED         jvp, jacfwd, hessian: NotImplementedError: You must"
    )
    assert lines[4].startswith("                what to change: write a staticmethod jvp(ctx, ")
    assert lines[6].startswith("REFUSED         jacfwd(jacfwd): ")
    works = "works           one gradient per input, gradient shape and dtype, "
    assert any(line.startswith(works) for line in lines)
    assert max(map(len, lines)) <= 98


def test_the_worst_comes_first_and_the_same_story_is_told_once():
    card = ReportCard(
        "f",
        (
            Row("a", "works"),
            Row("b", "refused", "no", remedy="try"),
            Row("c", "silently wrong", "here", "1", "2"),
            Row("d", "refused", "no", remedy="try"),
            Row("e", "works", "but"),
            Row("f", "skipped", remedy="pass what"),
            Row("g", "not applicable", "never"),
        ),
    )
    assert card.summary == (
        "report card of f: 2 of 5 work, 2 refused, 1 silently wrong, 1 not applicable; "
        "1 skipped: pass what"
    )
    assert str(card).splitlines()[1:] == [
        "SILENTLY WRONG  c: here: yours 1, expected 2",
        "REFUSED         b, d: no",
        "                what to change: try",
        "works           a",
        "works           e: but",
        "not applicable  g: never",
    ]
    assert repr(card) == str(card)


def test_the_table_says_what_the_text_says():
    card = report_card(faulty.SavesItsOutput.apply, x, like=faulty.like_saves_its_output)
    table = card._repr_html_()
    assert table.startswith(f"<p>{card.summary}</p>\n<table>")
    assert table.count("<tr>") == 1 + len(card.told_once()) == 6
    for row in card.rows:
        assert row.status == "skipped" or row.name in table
    assert "<b>SILENTLY WRONG</b>" in table
    assert "color" not in table and "background" not in table  # dark and light themes have theirs


def test_the_table_is_escaped():
    card = ReportCard("<b>", (Row("<i>", "refused", "a < b", remedy="<u>"),))
    table = card._repr_html_()
    assert all(tag not in table for tag in ("<i>", "<u>", "a < b", "of <b>"))


def test_a_row_answers_to_its_name():
    card = report_card(torch.relu, x)
    assert card["vmap"] == next(row for row in card.rows if row.name == "vmap")
    with pytest.raises(KeyError, match="no row 'vmapp', only .*'vmap'"):
        card["vmapp"]


@pytest.mark.parametrize(
    "status, passed",
    [("works", True), ("not applicable", True), ("skipped", True),
     ("refused", False), ("silently wrong", False)],
)  # fmt: skip
def test_what_passes(status, passed):
    assert ReportCard("f", (Row("a", "works"), Row("b", status))).passed == passed


def test_what_is_skipped_is_said():
    card = report_card(torch.relu, x)
    skipped = [row.name for row in card.rows if row.status == "skipped"]
    assert len(skipped) == 6
    assert "6 skipped: pass compile=True and processes=True" in card.summary
    assert not any(name in line for name in skipped for line in str(card).splitlines()[1:])


def test_two_calls_give_the_same_text():
    for name in ("SavesItsOutput", "WrongInFloat16", "detour"):
        function = getattr(faulty, name)
        function = getattr(function, "apply", function)
        assert str(report_card(function, x)) == str(report_card(function, x))


def test_a_new_process_gives_the_same_text():
    code = (
        "import torch, faulty; from autograd_surprises import report_card; "
        "torch.rand(3); print(report_card(faulty.SavesItsOutput.apply, torch.linspace(-2, 2, 9)))"
    )
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, cwd=Path(faulty.__file__).parent,
    )  # fmt: skip
    assert answer.stdout.rstrip() == str(report_card(faulty.SavesItsOutput.apply, x)), answer.stderr


# ---- The world around it


def world():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.get_rng_state().tolist(),
        random.getstate(),
        warnings.filters[:],
    )


def meddle(x):
    """Twice x, which leaves no global setting alone."""
    y = x * 2
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(7)
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    return y


def meddle_in_float16(x):
    """Twice x, but float16 is refused, and all settings are changed first."""
    if x.dtype == torch.float16:
        meddle(x)
        raise TypeError("no float16")
    return x * 2


@pytest.mark.parametrize("function", [torch.sigmoid, meddle, faulty.TooManyGradients.apply])
def test_the_world_is_left_as_it_was(function):
    before = world()
    report_card(function, x)
    assert world() == before


def test_devices_that_nobody_asked_about_are_not_seeded(monkeypatch):
    seeded = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    report_card(torch.sigmoid, x)
    assert seeded == []


def test_one_question_does_not_disturb_the_next():
    card = report_card(meddle_in_float16, x)
    names = [row.name for row in card.rows]
    assert [row.name for row in card.rows if not row.fine] == ["float16"]
    assert card[names[names.index("float16") + 1]].status == "works"  # and asks for gradients


@pytest.mark.parametrize(
    "surroundings",
    [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", torch.bfloat16)],
)
def test_the_surroundings_do_not_matter(surroundings):
    with surroundings():
        inside = report_card(torch.matmul, x.reshape(3, 3), x.reshape(3, 3))
    assert str(inside) == str(report_card(torch.matmul, x.reshape(3, 3), x.reshape(3, 3)))


def test_warnings_of_the_function_stay_inside():
    def warning(x):
        warnings.warn("from fn", stacklevel=1)
        return x * 2

    assert report_card(warning, x).passed  # the tests make every warning an error


# ---- torch.compile


def test_a_function_with_jvp_does_not_compile():
    card = report_card(faulty.RoundStraightThrough.apply, x, like=identity, compile=True)
    row = card["compile(aot_eager)"]
    assert (row.status, card["jvp"].status) == ("refused", "works")
    assert "torch.compiler.is_compiling()" in row.remedy


def test_a_gradient_that_compile_drops_is_silently_wrong():
    card = report_card(faulty.RoundWithoutJvp.apply, x, like=identity, compile=True)
    dropped = "silently wrong" if TORCH < (2, 14) else "works"
    assert card["compile(aot_eager)"].status == card["compile(inductor)"].status == "works"
    assert card["compile(grad)"].status == dropped
    assert (card["compile(jvp)"].status, card["compile(jvp)"].yours) == ("silently wrong", "0")
    assert "spell it without a Function" in card["compile(jvp)"].remedy


def test_a_compiler_that_is_missing_is_no_fault(monkeypatch):
    def no_compiler(*args, backend, **keywords):
        raise RuntimeError(f"no C++ compiler for {backend}\nmore")

    monkeypatch.setattr(torch, "compile", no_compiler)
    card = report_card(torch.relu, x, compile=True)
    assert card.passed
    row = card["compile(inductor)"]
    assert row.status == "not applicable"
    assert row.message == "inductor does not work here: no C++ compiler for inductor"


def test_the_log_speaks_again_after_compiling():
    with compiled.fresh_compiler("eager"):
        assert logging.root.manager.disable == logging.CRITICAL
    assert logging.root.manager.disable == logging.NOTSET


# ---- Two processes


def test_two_processes():
    card = report_card(faulty.Scale.apply, x, 3.0, processes=True)
    assert card["two processes"].status == "works"
    assert card["compile(grad)"].status == "skipped"
    assert "5 skipped: pass compile=True" in card.summary


def test_what_a_process_cannot_import_is_not_applicable():
    row = report_card(lambda x: x * 2, x, processes=True)["two processes"]
    assert row.status == "not applicable"
    assert "define it in a module (a .py file)" in row.message


def test_what_a_notebook_defines_is_not_applicable():
    def double(x):
        return x * 2

    double.__module__ = "__main__"
    row = report_card(double, x, processes=True)["two processes"]
    assert row.message == "a new process cannot import double: define it in a module (a .py file)"


@pytest.mark.parametrize(
    "command, says",
    [
        ("raise ValueError('in process {rank}')", "ValueError: in process "),
        ("import time; time.sleep(60)", "did not end within 2 s"),
        ("pass", "ended without a word"),
    ],
)
def test_a_process_that_fails_is_heard(monkeypatch, command, says):
    monkeypatch.setattr(processes, "COMMAND", command)
    monkeypatch.setattr(processes, "SECONDS", 2)
    row = report_card(faulty.Square.apply, x, processes=True)["two processes"]
    assert row.status == "refused"
    assert says in row.message


def test_three_questions_share_the_slopes_of_the_gradient(monkeypatch):
    measured = []
    monkeypatch.setattr(
        subject, "numeric_slopes", lambda *given: measured.append(1) or numeric_slopes(*given)
    )
    card = report_card(torch.exp, x)
    asked = ("gradgradcheck", "hessian", "jacfwd(jacfwd)")
    assert [card[name].status for name in asked] == ["works"] * 3 and len(measured) == 1


def test_a_wrong_average_is_seen(monkeypatch):
    def zeros(folder):
        subject = Subject(*pickle.loads((folder / "given").read_bytes()))
        return [torch.zeros_like(flat(subject.tensors())[0])] * 2

    monkeypatch.setattr(processes, "_run", zeros)
    row = report_card(faulty.Square.apply, x, processes=True)["two processes"]
    assert row.status == "silently wrong"
    assert row.message == "average gradient at x = -3"


def test_what_torch_says_as_its_compiler_starts_is_about_no_function(monkeypatch, capsys):
    said = []

    def loud(function, **options):
        def run(*args):
            said.append(f"planted {len(said)}")
            print(said[-1], file=sys.stderr)
            return function(*args)

        return run

    monkeypatch.setattr(torch, "compile", loud)
    with compiled.fresh_compiler("eager") as whole:
        whole(torch.exp)(torch.zeros(1))
    assert said == ["planted 0", "planted 1"]
    assert capsys.readouterr().err == "planted 1\n"
