"""The one search: in PyTorch's messages, plain questions, and the text of all lessons.

The box on the website finds the same messages, and other entries by plain words: see
tools/website/static/box.js.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from autograd_surprises.messages.catalogue import index_entries
from autograd_surprises.messages.entries import Cause, Message, Question, Section, all_sections
from autograd_surprises.messages.pasted import (
    errors_in,
    messages_in,
    nearest_message,
    without_frames,
    without_libraries,
)
from autograd_surprises.messages.words import names_in, terms, terms_of

Document: TypeAlias = Message | Question | Section

MOST = 3  # entries that are shown, and sections
LESS = 0.3  # of the score of the best: what has less is no answer beside it
BOOSTS = {"name": 4.0, "other": 2.5, "text": 1.0}  # how much a word counts in each field
# How much counts what is asked most often, an exercise, and a page beside the lessons.
FREQUENT, EXERCISE, BESIDE = 1.2, 0.7, 0.2
TOLD = 1.5  # something in the text points to one of its causes
SUBJECT = 0.12  # a word that so many of all documents have belongs to the subject
# The share of a query, weighted by rarity, that an answer has to have: of one that has a word of
# the subject, and of another.
ENOUGH, ENOUGH_OF_ANOTHER = 0.2, 0.6
ENOUGH_OF_A_MESSAGE = 0.8  # the share of its words that an error has to have
FEWEST_LETTERS, ALIKE = 5, 0.55  # of a word that may be a slip of another; their pairs of letters


NOTHING_FOUND = (
    "Nothing found. The search is about gradients only. If you have a message, paste the last line "
    "of the traceback, too, because it names the error. Otherwise, type fewer words, such as the "
    "name of a function."
)
UNKNOWN_ERROR = (
    "The search is about gradients only, and knows no message that has enough of these words. "
    "The nearest, as a guess:"
)
UNKNOWN_WORDS = "Nothing here about {words}. The nearest, as a guess:"
NO_GOOD_MATCH = "Nothing here has enough of these words. The nearest, as a guess:"


@dataclass(frozen=True)
class Answer:
    """What a query finds."""

    found: tuple[Document, ...] = ()  # the best first
    is_guess: bool = False  # have all of them too little of what was asked?
    unknown: tuple[str, ...] = ()  # words of the query that occur nowhere
    names_error: bool = False  # are they guesses about an error?
    asked: str = ""  # the text, without code of libraries

    @property
    def verdict(self) -> str:
        """How many documents are found, or that these are guesses, or what to do."""
        if not self.found:
            return NOTHING_FOUND
        if not self.is_guess:
            return f"found: {len(self.found)}"
        if self.names_error:
            return UNKNOWN_ERROR
        words = ", ".join(self.unknown)
        return UNKNOWN_WORDS.format(words=words) if words else NO_GOOD_MATCH

    def told(self, entry: Message | Question) -> list[Cause]:
        """Those of its causes that something in the text points to."""
        return [cause for cause in entry.causes if cause.is_told_by(self.asked)]

    @property
    def entries(self) -> list[Message | Question]:
        return [each for each in self.found if not isinstance(each, Section)]

    @property
    def sections(self) -> list[Section]:
        return [each for each in self.found if isinstance(each, Section)]


def find(text: str) -> Answer:
    """What a text is about: a traceback, a part of a message, or a question in one's own words.

    The last error of a traceback comes first, and a message that stands in the text as a whole
    comes before one of which it has a part. An error that is retyped is found by its words.

    >>> find("ImportError: No module named 'pytorch'").found[0].id
    'no-module-pytorch'
    >>> find("why retian_graph?").found[0].id
    'retain-graph'
    """
    return replace(_found(text), asked=without_libraries(text))


def _found(text):
    errors = errors_in(text)
    asked = errors[-1] if errors else without_frames(text)
    known = messages_in(text)
    parts = [each for each in index_entries() if asked and asked.lower() in each.searched]
    if known and (errors or len(parts) < 2):
        return Answer(tuple(known[:MOST]))
    if parts and (errors or " " in asked):  # one is being typed
        return Answer(tuple(parts[:MOST]))
    if not errors:
        return _by_words(asked)
    message, share = nearest_message(asked)
    nearest = (message,) if message else ()
    if share >= ENOUGH_OF_A_MESSAGE:
        return Answer(nearest)
    guesses = _by_words(asked)
    found = (*nearest, *(each for each in guesses.found if each not in nearest))[:MOST]
    return replace(guesses, found=found, is_guess=True, names_error=True)


@cache
def documents() -> tuple[Document, ...]:
    """All that can be found: first the entries of the index, then the sections."""
    return (*index_entries(), *all_sections())


def fields_of(document: Document) -> dict[str, str]:
    """Its texts by the fields of BOOSTS."""
    if isinstance(document, Section):
        heading, title = document.heading, document.title
        return {"name": heading or title, "other": heading and title, "text": document.text}
    causes = [
        f"{cause.what} {cause.helps} {cause.token} {cause.address.partition('#')[2]}"
        for cause in document.causes
    ]
    return {
        "name": " ".join(document.texts),
        "other": f"{document.searched} {document.id.replace('-', ' ')}",
        "text": " ".join([document.meaning, document.fix, *causes]),
    }


def weight_of(document: Document) -> float:
    """How much it counts, beside the words that it shares with a query."""
    if not isinstance(document, Section):
        return FREQUENT if document.group == 0 else 1.0
    if document.address.startswith("../"):
        return BESIDE
    return EXERCISE if document.heading.startswith("Your turn") else 1.0


@cache
def _index():
    """({term: how much it counts in a document} for each, {term: how many documents have it})."""
    boosts = [Counter() for _ in documents()]
    for document, counts in zip(documents(), boosts, strict=True):
        for name, text in fields_of(document).items():
            counts.update(dict.fromkeys(terms(text), BOOSTS[name]))
    return boosts, Counter(term for counts in boosts for term in counts)


def _by_words(asked):
    """Those first that have many of the words, rare ones above all, and in their headings."""
    boosts, having = _index()
    words, unknown = _meant(asked)
    rarity = {term: _rarity(term) for term in words}
    ranked = []
    for place, (document, counts) in enumerate(zip(documents(), boosts, strict=True)):
        there = [term for term in rarity if term in counts]
        covered = sum(rarity[term] for term in there)
        score = sum(rarity[term] * counts[term] for term in there)
        score *= covered * weight_of(document) * (TOLD if _is_told(document, asked) else 1.0)
        ranked.append((-round(score, 6), place, covered))
    ranked = sorted(each for each in ranked if each[0])
    total = sum(rarity.values()) + len(unknown) * _rarity("")
    is_subject = any(having[term] > SUBJECT * len(documents()) for term in words)
    enough = ENOUGH if is_subject else ENOUGH_OF_ANOTHER
    is_guess = not ranked or ranked[0][2] < enough * total
    best = [documents()[place] for score, place, _ in ranked if score <= LESS * ranked[0][0]]
    entries = [each for each in best if not isinstance(each, Section)][:MOST]
    sections = [each for each in best if isinstance(each, Section)][:MOST]
    found = [each for each in best if each in entries or each in sections]
    return Answer(tuple(found), is_guess, tuple(unknown))


def _is_told(document, asked):
    return not isinstance(document, Section) and any(c.is_told_by(asked) for c in document.causes)


def _meant(asked):
    """The terms that are meant, a slip as the word that is like it, and words that are unknown."""
    _, having = _index()
    words, unknown = [], []
    for name in names_in(asked):
        some = terms_of(name)
        if some and not any(term in having for term in some):
            unknown.append(name.removeprefix("."))
        words += [term if term in having else _corrected(term, having) for term in some]
    return [*dict.fromkeys(filter(None, words))], unknown


def _corrected(word: str, known: Iterable[str]) -> str:
    """The known term with the same first letter that has the most pairs of letters of it, or ""."""
    if len(word) < FEWEST_LETTERS:
        return ""
    alike = {term: _alike(word, term) for term in known if term[0] == word[0]}
    nearest = max(alike, key=lambda term: (alike[term], term), default="")
    return nearest if alike.get(nearest, 0.0) > ALIKE else ""


def _alike(one, other):
    """The coefficient of Dice, of their pairs of neighbouring letters."""
    some, others = ({word[k : k + 2] for k in range(len(word) - 1)} for word in (one, other))
    return 2 * len(some & others) / (len(some) + len(others))


def _rarity(term):
    _, having = _index()
    return math.log(1 + (len(documents()) - having[term] + 0.5) / (having[term] + 0.5))
