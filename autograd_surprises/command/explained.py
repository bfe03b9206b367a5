"""What a message of PyTorch, a traceback or an id means: the command `explain`."""

import argparse
import os
import sys
import textwrap
from collections.abc import Callable
from typing import NoReturn

from autograd_surprises.facts.more import page_about
from autograd_surprises.facts.sections import address
from autograd_surprises.messages.entries import Section
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
    """
    parts = [answer.verdict] if answer.is_guess or not answer.found else []
    for found in answer.found:
        if isinstance(found, Section):
            lines = [found.heading or found.title, answer.excerpt(found), _place(found.address)]
        else:
            helps = [f"What helps: {found.fix}"] if found.fix else []
            causes = [_place(cause.address, cause.what) for cause in found.causes]
            page = [page_about(found.id)] if page_about(found.id) else []
            lines = ["\n".join(found.texts), found.meaning, *helps, *causes, *page]
        first, *others = lines
        parts.append("\n".join([first, *map(_indented, others)]))
    return "\n\n".join(parts)


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
