"""The index of PyTorch's messages and of plain questions."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from autograd_surprises.facts.sections import address
from autograd_surprises.messages.catalogue import all_messages, all_questions
from autograd_surprises.messages.entries import Cause, Message, Question


class Link(NamedTuple):
    """What may be the cause, and the address of the section that shows it."""

    what: str
    address: str


@dataclass(frozen=True)
class IndexEntry:
    """A message or a question in the index.

    id          of the message or the question
    is_message  or is it a question?
    texts       as the index lists them: what PyTorch prints, or a question in Markdown
    searched    these and other words for it, in lower case
    meaning     what it means, or the answer in short
    fix         what helps, or "" for a question
    causes      what it may be; `what` is "" where the text itself says it
    frequent    its place among those asked most often, or 0
    group       0 if it is asked often, 2 if it is a slip of a web page, else 1
    """

    id: str
    is_message: bool
    texts: tuple[str, ...]
    searched: str
    meaning: str
    fix: str
    causes: tuple[Link, ...]
    frequent: int
    group: int


@cache
def index_entries() -> tuple[IndexEntry, ...]:
    """The frequent ones first, those of web pages last, the others by notebook.

    >>> index_entries()[0].id
    'grad-is-none'
    """
    entries = [*map(_of_question, all_questions()), *map(_of_message, all_messages())]
    return tuple(sorted(entries, key=_place))


def _of_message(message: Message) -> IndexEntry:
    main = [Cause("", message.section)] if message.section else []
    return IndexEntry(
        message.id,
        is_message=True,
        texts=tuple(message.examples) or message.variants,
        searched="\n".join(message.wordings).lower(),
        meaning=message.meaning,
        fix=message.fix,
        causes=_links([*main, *message.also]),
        frequent=message.frequent,
        group=0 if message.frequent else 2 if message.of_web_pages else 1,
    )


def _of_question(question: Question) -> IndexEntry:
    return IndexEntry(
        question.id,
        is_message=False,
        texts=(question.asked,),
        searched="\n".join([question.asked, *question.other_words]).lower(),
        meaning=question.answer,
        fix="",
        causes=_links(question.causes),
        frequent=question.frequent,
        group=0 if question.frequent else 1,
    )


def _links(causes: Iterable[Cause]) -> tuple[Link, ...]:
    return tuple(Link(what, address(section)) for what, section in causes)


def _place(entry):
    first = entry.causes[0].address if entry.causes else "99"
    return entry.group, entry.frequent, first[:2]
