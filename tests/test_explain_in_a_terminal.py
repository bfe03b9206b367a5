"""python -m autograd_surprises explain: messages, tracebacks, questions, and what nobody knows."""

import io
import os
import re
import textwrap

import pytest

from autograd_surprises.command.explained import text_of_rule
from autograd_surprises.command.parser import main
from autograd_surprises.messages.queries import find
from autograd_surprises.symptoms.all_rules import all_rules

SAID = "element 0 of tensors does not require grad and does not have a grad_fn"


def test_a_message_is_explained(capsys):
    assert main(["explain", SAID]) == 0
    said = " ".join(capsys.readouterr().out.split())
    (entry,) = find(SAID).found
    assert said.startswith(SAID)
    assert entry.meaning in said and entry.fix in said
    assert all(f"notebooks/{cause.address}" in said for cause in entry.causes if not cause.helps)
    repaired, broken = (re.sub(r"\s+", " ", code.strip()) for code in own_code(entry))
    assert said.index(repaired) < said.index(broken)


def own_code(entry):
    return entry.repaired, next(iter(entry.examples.values()))


TOLD = {  # what is pasted beside the same message, and a word of the cause that it tells
    "with torch.no_grad():\n    loss = model(batch)": "no_grad",
    "mask = scores.argmax(-1)": "argmax",
    "model = get_peft_model(model, lora)": "LoRA",
    "losses.append(loss.item())": ".item()",
    "checkpoint(block, x)": "checkpoint",
}


@pytest.mark.parametrize("code", TOLD)
def test_the_cause_that_the_text_tells_comes_first_with_its_code(code, capsys):
    assert main(["explain", f"{code}\n\nRuntimeError: {SAID}"]) == 0
    said = capsys.readouterr().out
    told = re.search("Here probably: (.*)", said)[1]
    assert TOLD[code] in told
    cause = next(cause for cause in find(SAID).found[0].causes if cause.what.startswith(told[:40]))
    above, _, below = said.partition("Repaired (")[2].partition("Broken:")
    assert textwrap.indent(cause.repaired.strip(), "    ", bool) in above
    assert textwrap.indent(cause.broken.strip(), "    ", bool) in below


def test_without_such_a_word_no_cause_is_told_and_code_of_a_library_tells_none():
    (entry,) = find(SAID).found
    assert find(SAID).told(entry) == []
    frame = (
        '  File "/a/site-packages/torch/x.py", line 7, in f\n    with torch.no_grad(): x.item()\n'
    )
    own = '  File "train.py", line 3, in <module>\n    loss = losses.argmax()\n'
    answer = find(f"Traceback (most recent call last):\n{own}{frame}RuntimeError: {SAID}")
    assert [cause.what.partition(",")[0] for cause in answer.told(entry)] == ["argmax"]


def test_a_traceback_on_stdin_is_explained(capsys, monkeypatch):
    traceback = f"Traceback (most recent call last):\n  File 'a.py', line 1\nRuntimeError: {SAID}\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(traceback))
    assert main(["explain"]) == 0
    assert capsys.readouterr().out.startswith(SAID)


def test_a_rule_is_explained_by_its_id_alone(capsys):
    for name, rule in all_rules().items():
        if "/" in name:
            assert main(["explain", name]) == 0
            assert capsys.readouterr().out == f"{text_of_rule(rule)}\n"


def test_each_rule_is_explained_without_the_facts_of_a_step():
    for name, rule in all_rules().items():
        first, *lines = text_of_rule(rule).splitlines()
        assert first == name and lines and not re.search(r"{\w+", "".join(lines)), lines
        assert not any(line.strip(" …") == "" for line in lines), name


def test_an_id_of_a_rule_and_of_a_message_finds_both_and_nothing_else(capsys):
    assert main(["explain", "straight-through"]) == 0
    rule, question, *_ = capsys.readouterr().out.split("\n\n")
    assert rule == text_of_rule(all_rules()["straight-through"])
    assert question.startswith("How do I write a straight-through estimator?")


def test_a_guess_and_nothing_say_so_and_fail(capsys):
    assert main(["explain", "how do I bake bread"]) == 1
    assert "as a guess" in capsys.readouterr().out.splitlines()[0]
    assert main(["explain", "0"]) == 1
    assert capsys.readouterr().out.startswith("Nothing found")


def test_a_reader_who_has_enough_ends_it_quietly(monkeypatch):
    end, start = os.pipe()
    os.close(end)  # as head does
    with open(start, "w") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        assert main(["explain", SAID]) == 0


def test_a_file_is_read_from_stdin(tmp_path, capsys):
    file = tmp_path / "error.txt"
    file.write_text(SAID)
    with pytest.raises(SystemExit):
        main(["explain", str(file)])
    assert f"explain < {file}" in capsys.readouterr().err


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
