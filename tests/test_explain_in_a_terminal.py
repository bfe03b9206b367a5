"""python -m autograd_surprises explain: messages, tracebacks, questions, and what nobody knows."""

import io
import re

import pytest

from autograd_surprises.__main__ import main
from autograd_surprises.explained import text_of_rule
from autograd_surprises.messages.queries import find
from autograd_surprises.symptoms.all_rules import all_rules

SAID = "element 0 of tensors does not require grad and does not have a grad_fn"


def test_a_message_is_explained(capsys):
    assert main(["explain", SAID]) == 0
    said = " ".join(capsys.readouterr().out.split())
    (entry,) = find(SAID).found
    assert said.startswith(SAID)
    assert entry.meaning in said and entry.fix in said
    assert all(f"notebooks/{address}" in said for _, address in entry.causes)


def test_a_traceback_on_stdin_is_explained(capsys, monkeypatch):
    traceback = f"Traceback (most recent call last):\n  File 'a.py', line 1\nRuntimeError: {SAID}\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(traceback))
    assert main(["explain"]) == 0
    assert capsys.readouterr().out.startswith(SAID)


def test_a_rule_is_explained_by_its_id(capsys):
    assert main(["explain", "zero-factor/number"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("zero-factor/number the gradient is multiplied by the other factor of …")
    assert f"What helps: {all_rules()['zero-factor/number'].fix}" in said


def test_each_rule_is_explained_without_the_facts_of_a_step():
    for name, rule in all_rules().items():
        first, *lines = text_of_rule(rule).splitlines()
        assert first == name and lines and not re.search(r"{\w+", "".join(lines)), lines
        assert not any(line.strip(" …") == "" for line in lines), name


def test_an_id_that_is_also_a_word_of_a_question_finds_both(capsys):
    assert main(["explain", "staircase"]) == 0
    first, *others = capsys.readouterr().out.split("\n\n")
    assert first == text_of_rule(all_rules()["staircase"]) and others


def test_a_question_finds_sections(capsys):
    assert main(["explain", "REINFORCE", "baseline"]) == 0
    first, excerpt, *_ = capsys.readouterr().out.splitlines()
    assert first == "REINFORCE, and a baseline" and excerpt.startswith("  ")


def test_a_guess_and_nothing_say_so_and_fail(capsys):
    assert main(["explain", "how do I bake bread"]) == 1
    assert "as a guess" in capsys.readouterr().out.splitlines()[0]
    assert main(["explain", "0"]) == 1
    assert capsys.readouterr().out.startswith("Nothing found")


class Keyboard(io.StringIO):
    """A terminal: who reads from it waits for somebody to type."""

    def isatty(self):
        return True

    def read(self):
        raise AssertionError("it waits")


@pytest.mark.parametrize("stdin", [io.StringIO(" \n"), Keyboard()], ids=["empty", "a terminal"])
def test_without_a_text_it_says_what_is_missing(stdin, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(SystemExit):
        main(["explain"])
    assert "which message?" in capsys.readouterr().err
