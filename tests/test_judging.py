"""A judge in another process gives the verdict that the notebook gives, and no cheat passes it."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from answers import solutions
from cheating_sheets import CHEATS, PASS, verdicts
from hand_in_answers import answers_to

from lessons import checking
from lessons.exercises import CHECKS
from lessons.exercises.registry import Wrong
from tools.classroom.drawn import NOT_COMPARED, Recorder, compare
from tools.classroom.judging import judge_answer
from tools.classroom.plain import (
    pack,
    pack_error,
    pack_other,
    pack_tensor,
    unpack,
    unpack_error,
    unpack_other,
    unpack_tensor,
)
from tools.classroom.remote import Closed, Judge
from tools.classroom.sandbox import why_unprotected
from tools.classroom.scoring import TOGETHER
from tools.notebooks import ROOT

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="scoring needs Linux or macOS")
APART = [number for number in CHECKS if number not in TOGETHER]


@pytest.fixture
def no_drawings(monkeypatch):
    for number, check in CHECKS.items():
        plain = dataclasses.replace(check, draw_wrong=None, draw_right=None)
        monkeypatch.setitem(CHECKS, number, plain)


def judged_apart(numbers):
    """(number, name, the verdict on that answer, which is in another process)."""
    (from_sheet, to_judge), (from_judge, to_sheet) = os.pipe(), os.pipe()
    file = Path(__file__).with_name("hand_in_answers.py")
    ends = from_judge, to_judge
    command = [sys.executable, file, *map(str, ends), *numbers]
    with subprocess.Popen(command, pass_fds=ends):
        for end in ends:
            os.close(end)
        session = Judge(from_sheet, to_sheet)
        for number in numbers:
            for name in answers_to(number):
                _, (_, content) = session.receive()
                yield number, name, judge_answer(session, number, content, solutions()[number])
                session.send("done")
        session.close()


@posix
@pytest.mark.slow
def test_every_verdict_is_that_of_the_notebook(no_drawings):
    assert [
        (number, name, verdict)
        for number, name, verdict in judged_apart(APART)
        if verdict.sign != checking.judge(number, answers_to(number)[name]).sign
    ] == []


@pytest.mark.slow
@pytest.mark.skipif(bool(why_unprotected()), reason=why_unprotected())
def test_only_the_cheats_that_are_named_pass():
    found = verdicts()
    assert {*found} == {*CHEATS}
    assert {name for name, signs in found.items() if {"✓", "often"} & {*signs} == {"✓"}} == PASS
    assert len(PASS) <= 5 and len(CHEATS) >= 40


def table_of(solution, calls):
    """An answer that knows what the solution gives, for these calls alone."""

    def answer(*args):
        for known in calls:
            if all(map(torch.equal, known, args)):
                return solution(*args)
        return args[0] * 0

    return answer


def test_a_table_of_the_inputs_of_a_check_is_found_out():
    solution = solutions()["04.1"]
    recorder = Recorder(solution)
    CHECKS["04.1"].run(recorder)
    calls = [*recorder.calls.values()]
    table = table_of(solution, calls)
    CHECKS["04.1"].run(table)  # passes
    compare(solution, solution, calls, seed=0)
    with pytest.raises(Wrong, match="drawn in this run"):
        compare(table, solution, calls, seed=0)


def test_another_run_draws_other_inputs():
    seen = []
    for seed in (0, 1):
        compare(lambda x: seen.append(x) or 0, lambda x: 0, [(torch.ones(3),)], seed)
    assert len({tuple(each.tolist()) for each in seen}) == len(seen) == 4


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.bool, torch.complex64], ids=str
)
def test_a_tensor_arrives_as_it_was(dtype):
    for tensor in (torch.tensor([[1.5, 0], [-2, 3]]).to(dtype), torch.ones(()).to(dtype)):
        arrived = unpack_tensor(pack_tensor(tensor))
        assert arrived.dtype == dtype and torch.equal(arrived, tensor)


def test_values_arrive_as_they_were():
    value = [1, (2.5, None, ...), "text", True, [float("inf")]]
    assert unpack(pack(value, [], pack_other), [], unpack_other) == value
    odd = unpack(pack({"a": 1}, [], pack_other), [], unpack_other)
    assert type(odd).__name__ == "dict", "its type is known, and nothing else"


ODD = [
    {"shape": [3]},
    {"shape": [-1]},
    {"shape": [10**30, 0]},
    {"shape": "ab"},
    {"dtype": "object"},
    {"numbers": "?"},
    {"numbers": 5},
]


@pytest.mark.parametrize("change", ODD, ids=str)
def test_numbers_that_are_no_tensor_are_refused(change):
    with pytest.raises((ValueError, LookupError, TypeError, RuntimeError)):
        unpack_tensor({**pack_tensor(torch.ones(2)), **change})


@pytest.mark.parametrize("kind", ["exit", "SystemExit", "Exception.mro", "eval", "print", 5])
def test_an_error_is_an_error_whatever_it_is_called(kind):
    assert type(unpack_error({"kind": kind, "message": "", "where": None})) is RuntimeError


def test_an_error_keeps_its_kind():
    class Odd(KeyError):
        pass

    assert type(unpack_error(pack_error(Odd("x")))) is KeyError


def conversation(*lines):
    """A judge to whom these lines have been written, and then nothing."""
    incoming, outgoing = os.pipe()
    os.write(outgoing, b"".join(lines))
    os.close(outgoing)
    return Judge(incoming, os.open(os.devnull, os.O_WRONLY))


def test_what_is_no_message_is_skipped():
    session = conversation(b"odd\n", b"[1, 2]\n", b"{}\n", b'["x", 1, 5]\n', b'["cell", 1, []]\n')
    assert session.receive() == ("cell", 1)
    with pytest.raises(Closed, match="ended Python"):
        session.receive()
    session.close()


def test_the_page_names_what_is_judged_less_strictly():
    """Those exercises whose inputs are never drawn, and those judged in the sheet's process."""
    page = (ROOT / "docs/classroom.md").read_text()
    fixed = set()
    for number in APART:
        recorder = Recorder(solutions()[number])
        if callable(recorder.answer):
            CHECKS[number].run(recorder)
            if number in NOT_COMPARED or not recorder.calls:
                fixed.add(number)
    (line,) = re.findall(r"^- In (.*) belong to a graph", page, re.MULTILINE)
    assert {*re.findall(r"\d\d\.\d", line)} == fixed
    (line,) = re.findall(r"^- (.*) are judged in the sheet's own process", page, re.MULTILINE)
    assert {*re.findall(r"\d\d\.\d", line)} == TOGETHER
    (count,) = re.findall(r"has (\d+) cells that want to pass", page)
    assert int(count) == len(CHEATS)
