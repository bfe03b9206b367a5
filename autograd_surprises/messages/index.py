"""The index of PyTorch's messages and of plain questions, and the search in it.

The website searches in JavaScript by the same rules: tools/website/static/symptoms.js.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from autograd_surprises.messages.catalogue import all_messages, all_questions
from autograd_surprises.messages.entries import Cause, Message, Question
from autograd_surprises.messages.pasted import errors_in, messages_in, without_frames
from autograd_surprises.sections import address

# Ids of messages and questions. The others are listed in between, by notebook.
FREQUENT = (
    "grad-is-none",
    "not-connected",
    "overwritten",
    "second-backward",
    "vector-backward/several",
    "vector-backward/complex",
    "gradient-is-nan",
    "gradient-is-zero",
    "weight-never-moves",
    "frozen-layer",
    "moved-tensor",
    "what-is-gradient",
    "gradient-grows",
    "not-a-leaf",
    "leaf",
    "optimizer-of-result",
    "kink",
    "accumulation",
    "clipping",
    "checkpointing",
)
OF_WEB_PAGES = (
    "no-module-pytorch",
    "shape-for-values",
    "renamed-initializer",
    "missing-outputs",
    "no-such-function",
)
FEWEST_LETTERS, MORE_LETTERS = 4, 3  # of a word, and by how many another may continue it
POINTS = 1000  # of a word, shared among the entries that have it
ENOUGH = 350  # points, for two words of a long question
MOST = 5  # entries that are found by words
# Words that say nothing about a gradient.
COMMON = frozenset(
    "a about after all also am an and any are as at be been but by can cannot could did do "  # noqa: SIM905
    "does doesn don even for from get gets getting given got had has have how i if in into is "
    "isn it its itself just like made make makes may me mean means more my no not of on one "
    "only or other our pytorch so some still such than that the their them then there these "
    "they thing things this those to too torch use used uses using want was we were what when "
    "which while who why will with without work works would you your".split()
)


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
    """

    id: str
    is_message: bool
    texts: tuple[str, ...]
    searched: str
    meaning: str
    fix: str
    causes: tuple[Link, ...]

    @property
    def group(self) -> int:
        """0 if it is asked often, 2 if it is a slip of a web page, else 1."""
        return 0 if self.id in FREQUENT else 2 if self.id in OF_WEB_PAGES else 1

    @cached_property
    def shown_words(self) -> frozenset[str]:
        return words_in("\n".join(self.texts))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its texts and causes, and of the headings of their sections."""
        causes = " ".join(f"{what} {address.partition('#')[2]}" for what, address in self.causes)
        return words_in(f"{self.searched} {causes}")


@cache
def index_entries() -> tuple[IndexEntry, ...]:
    """The frequent ones first, those of web pages last, the others by notebook.

    >>> index_entries()[0].id
    'grad-is-none'
    """
    entries = [*map(_of_question, all_questions()), *map(_of_message, all_messages())]
    return tuple(sorted(entries, key=_place))


def find_entries(text: str) -> list[IndexEntry]:
    """What a text is about: a traceback, a part of a message, or a question in one's own words.

    The last error of a traceback comes first. For a question, those come first that share its
    rarest words, and at most five are found.

    >>> find_entries("ImportError: No module named 'pytorch'")[0].id
    'no-module-pytorch'
    >>> find_entries("Why is x.grad None?")[0].id
    'grad-is-none'
    """
    errors = errors_in(text)
    asked = errors[-1] if errors else without_frames(text)
    entries = {entry.id: entry for entry in index_entries()}
    found = [entries[message.id] for message in messages_in(text)]
    parts = [each for each in entries.values() if asked and asked.lower() in each.searched]
    if found and (errors or len(parts) < 2):
        return found
    if errors or (parts and " " in asked):  # one is being typed
        return parts
    return _by_words(words_in(asked))


def words_in(text: str) -> frozenset[str]:
    """The words of a text that may say something about a gradient, in lower case.

    >>> sorted(words_in("Why call zero_grad?"))
    ['call', 'grad', 'zero', 'zero_grad']
    """
    names = re.findall("[a-z0-9_]+", text.lower())
    parts = {part for name in names for part in (name, *name.split("_")) if len(part) > 1}
    return frozenset(parts) - COMMON


def _of_message(message: Message) -> IndexEntry:
    main = [Cause("", message.section)] if message.section else []
    return IndexEntry(
        message.id,
        is_message=True,
        texts=tuple(message.examples),
        searched="\n".join(message.wordings).lower(),
        meaning=message.meaning,
        fix=message.fix,
        causes=_links([*main, *message.also]),
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
    )


def _links(causes: Iterable[Cause]) -> tuple[Link, ...]:
    return tuple(Link(what, address(section)) for what, section in causes)


def _place(entry):
    order = FREQUENT.index(entry.id) if entry.group == 0 else 0
    first = entry.causes[0].address if entry.causes else "99"
    return entry.group, order, first[:2]


def _by_words(asked):
    """Those with half of the words, or with two rare ones, the best first.

    The fewer entries have a word, the more it counts; in the texts that are shown, twice.
    """
    points, shared = Counter(), Counter()
    for word in asked:
        having = [entry for entry in index_entries() if _has(entry.words, word)]
        for entry in having:
            twice = 1 + _has(entry.shown_words, word)
            points[entry.id] += twice * (POINTS // len(having))
            shared[entry.id] += 1
    found = [
        entry
        for entry in index_entries()
        if 2 * shared[entry.id] >= len(asked) > 0
        or (shared[entry.id] > 1 and points[entry.id] > ENOUGH)
    ]
    found.sort(key=lambda entry: -points[entry.id])
    return [entry for entry in found[:MOST] if 2 * points[entry.id] >= points[found[0].id]]


def _has(words, word):
    """Is it one of the words, or one with another ending: gradient, gradients?"""
    return word in words or any(
        min(len(word), len(other)) >= FEWEST_LETTERS
        and abs(len(word) - len(other)) <= MORE_LETTERS
        and (word.startswith(other) or other.startswith(word))
        for other in words
    )
