"""What a message of PyTorch, a traceback or an id means: the command `explain`."""

import argparse
import os
import sys
import textwrap
from collections.abc import Callable
from typing import NoReturn

from autograd_surprises.facts.more import page_about
from autograd_surprises.facts.sections import address
from autograd_surprises.messages.queries import Answer, documents, find
from autograd_surprises.symptoms.all_rules import all_rules, in_general
from autograd_surprises.symptoms.rule import Rule

DESCRIPTION = """\
Say what a message of PyTorch, a traceback or a question about gradients is about: what it means,
what helps and, for most, which section of the lessons shows it. The id of a message or of a rule
of the doctor, which a report names, is explained, too: zero-factor/number. Without a text, it is
read from stdin.
"""
USAGE = "[text ...]"
WIDTH = 96


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the text."""
    parser.add_argument("text", nargs="*", help="a message, a question in your own words, or an id")


def act(options: argparse.Namespace, fail: Callable[[str], NoReturn]) -> int:
    """Print what is found. Returns 0, or 1 if that is nothing or a guess."""
    asked = " ".join(options.text)
    if not asked and not sys.stdin.isatty():
        asked = sys.stdin.read()
    if not asked.strip():
        fail("which message? For example: explain \"No module named 'pytorch'\"")
    said, has_answer = _with_id(asked.strip()), True
    if not said and os.path.isfile(asked):
        fail(f"{asked} is a file: {options.parser.prog} < {asked}")
    if not said:
        said, has_answer = _searched(asked.strip())
    print(said, flush=True)
    return int(not has_answer)


def _with_id(id):
    """The rule and the message of this id, or ""."""
    named = tuple(each for each in documents() if getattr(each, "id", "") == id)
    texts = [text_of_rule(all_rules()[id])] if id in all_rules() else []
    return "\n\n".join([*texts, *([text_of(Answer(named))] if named else [])])


def _searched(asked):
    """(what is found, whether it is more than a guess)."""
    answer = find(asked)
    return text_of(answer), bool(answer.found) and not answer.is_guess


def text_of(answer: Answer) -> str:
    """What is found, as plain text: of an entry, what it means, what helps, and its sections.

    >>> print(text_of(find("No module named 'pytorch'")))
    No module named 'pytorch'
      PyTorch's package is called torch
      What helps: import torch
      notebooks/08_errors_and_wrong_numbers.ipynb#Three-lines-from-a-web-page
    <BLANKLINE>
      Repaired:
        import torch
        print(torch.ones(2))
    <BLANKLINE>
      Broken:
        import pytorch
    """
    parts = [_entry(each, answer) for each in answer.entries]
    if answer.sections:
        places = [_place(each.address) for each in answer.sections]
        lessons = "\n".join(["In the lessons", *map(_indented, places)])
        parts.insert(0 if answer.found[0] in answer.sections else len(parts), lessons)
    return "\n\n".join([answer.verdict, *parts] if answer.is_guess or not parts else parts)


def _entry(entry, answer):
    """What it means, what helps, its causes, those first that the text tells, and its code."""
    told = answer.told(entry)
    lines = [entry.meaning, *([f"What helps: {entry.fix}"] if entry.fix else [])]
    for cause in told:
        lines += [f"Here probably: {cause.what}", f"What helps: {cause.helps}"]
        lines += [_place(cause.address)] if cause.section else []
    others = [cause for cause in entry.causes if cause not in told]
    if told or entry is not answer.entries[0]:
        names = "; ".join(cause.what for cause in others if cause.what)
        lines += [f"Other causes: {names}"] if names else []
    else:
        lines += [
            f"{cause.what}: {cause.helps}" if cause.helps else _place(cause.address, cause.what)
            for cause in others
        ]
    lines += [page_about(entry.id)] if page_about(entry.id) else []
    code = _code(entry, told) if len(answer.entries) == 1 else []
    return "\n".join(["\n".join(entry.texts), *map(_indented, lines), *code])


def _code(entry, told):
    """That of the cause, or of the entry itself: first repaired, then broken."""
    with_code = next((cause for cause in [*told, *entry.causes] if cause.repaired), None)
    own = getattr(entry, "repaired", "") or getattr(entry, "example", "")
    if with_code and (with_code in told or not own):
        repaired, broken, name = with_code.repaired, with_code.broken, f" ({with_code.what})"
    else:
        repaired, broken, name = own, next(iter(getattr(entry, "examples", {}).values()), ""), ""
    parts = {f"Repaired{name}:" if broken else "Code:": repaired, "Broken:": broken}
    return [
        line
        for heading, code in parts.items()
        if code
        for line in ["", _indented(heading), *(f"    {each}" for each in code.strip().splitlines())]
    ]


def text_of_rule(rule: Rule) -> str:
    """A rule of the doctor, as plain text: what it finds, what helps, and its section.

    >>> print(text_of_rule(all_rules()["hook/zero"]))
    hook/zero
      a hook replaced the gradient by zeros
      What helps: look for register_hook() and module hooks on the way, and for clipping to 0
    """
    sentence, fix = in_general(rule.sentence), in_general(rule.fix)
    lines = [sentence, f"What helps: {fix}" if fix else ""]
    lines += [_place(address(rule.section)) if rule.section else "", page_about(rule.id)]
    return "\n".join([rule.id, *(_indented(line) for line in lines if line)])


def _place(address, what=""):
    place = f"notebooks/{address}".replace("notebooks/../", "")
    return f"{what}: {place}" if what else place


def _indented(line):
    return textwrap.fill(
        line, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
