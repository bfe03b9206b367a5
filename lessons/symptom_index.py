"""The index of symptoms: messages of torch and plain questions, and the sections about them.

The website searches in JavaScript by the same rules: tools/website/static/symptoms.js.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from autograd_surprises.messages import MESSAGES, Cause, Message, errors_in, messages_in
from autograd_surprises.messages.pasted import texts_of, without_frames
from autograd_surprises.sections import address
from lessons.plain_questions import QUESTIONS, Question

# Names of messages and questions. The others are listed in between, by notebook.
FREQUENT = (
    "grad-is-none",
    "not-connected",
    "overwritten",
    "second-backward",
    "vector-backward",
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
POINTS = 1000  # of a word, shared among the symptoms that have it
ENOUGH = 350  # points, for two words of a long question
MOST = 5  # symptoms that are found by words
# Words that say nothing about a gradient.
COMMON = frozenset(
    "a about after all also am an and any are as at be been but by can cannot could did do "  # noqa: SIM905
    "does doesn don even for from get gets getting given got had has have how i if in into is "
    "isn it its itself just like made make makes may me mean means more my no not of on one "
    "only or other our pytorch so some still such than that the their them then there these "
    "they thing things this those to too torch use used uses using want was we were what when "
    "which while who why will with without work works would you your".split()
)


@dataclass(frozen=True)
class Symptom:
    """An entry of the index: what torch says, or what people ask.

    name      of the message or the question
    texts     as the index lists them: what torch says, or a question in Markdown
    of_torch  are they what torch says?
    searched  these and other words for it, in lower case
    meaning   what it means, or the answer in short
    fix       what helps, or "" for a question
    causes    what it may be; `what` is "" where the text itself says it
    """

    name: str
    texts: tuple[str, ...]
    of_torch: bool
    searched: str
    meaning: str
    fix: str
    causes: tuple[Cause, ...]

    @classmethod
    def of_message(cls, message: Message) -> Symptom:
        main = (Cause("", message.section),) if message.section else ()
        causes = _with_addresses((*main, *message.also))
        texts, searched = tuple(message.examples), texts_of(message)
        return cls(message.cause, texts, True, searched, message.meaning, message.fix, causes)

    @classmethod
    def of_question(cls, question: Question) -> Symptom:
        texts, searched = question.asked[:1], "\n".join(question.asked).lower()
        return cls(
            question.name,
            texts,
            False,
            searched,
            question.answer,
            "",
            _with_addresses(question.causes),
        )

    @property
    def group(self) -> int:
        """0 if it is asked often, 2 if it is a slip of a web page, else 1."""
        return 0 if self.name in FREQUENT else 2 if self.name in OF_WEB_PAGES else 1

    @cached_property
    def shown_words(self) -> frozenset[str]:
        return words_in("\n".join(self.texts))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its texts and causes, and of the headings of their sections."""
        sections = " ".join(f"{what} {section.partition('#')[2]}" for what, section in self.causes)
        return words_in(f"{self.searched} {sections}")


def _with_addresses(causes):
    return tuple(Cause(what, address(section)) for what, section in causes)


def words_in(text: str) -> frozenset[str]:
    """The words of a text that may say something about a gradient, in lower case.

    >>> sorted(words_in("Why call zero_grad?"))
    ['call', 'grad', 'zero', 'zero_grad']
    """
    names = re.findall("[a-z0-9_]+", text.lower())
    parts = {part for name in names for part in (name, *name.split("_")) if len(part) > 1}
    return frozenset(parts) - COMMON


def _in_order(symptoms):
    """The frequent ones first, those of web pages last, the others by notebook."""

    def place(symptom):
        order = FREQUENT.index(symptom.name) if symptom.group == 0 else 0
        first = symptom.causes[0].section if symptom.causes else "99"
        return symptom.group, order, first[:2]

    return tuple(sorted(symptoms, key=place))


OF_MESSAGES = {id(message): Symptom.of_message(message) for message in MESSAGES}
SYMPTOMS = _in_order([*map(Symptom.of_question, QUESTIONS), *OF_MESSAGES.values()])


def find_symptoms(text: str) -> list[Symptom]:
    """What a text is about: a traceback, a part of a message, or a question in one's own words.

    The last error of a traceback comes first. For a question, those come first that share its
    rarest words, and at most five are found.

    >>> find_symptoms("ImportError: No module named 'pytorch'")[0].name
    'no-module-pytorch'
    >>> find_symptoms("Why is x.grad None?")[0].name
    'grad-is-none'
    """
    errors = errors_in(text)
    said = errors[-1] if errors else without_frames(text)
    found = [OF_MESSAGES[id(message)] for message in messages_in(text)]
    parts = [each for each in SYMPTOMS if said and said.lower() in each.searched]
    if found and (errors or len(parts) < 2):
        return found
    if errors or (parts and " " in said):  # one is being typed
        return parts
    return _by_words(words_in(said))


def _by_words(asked):
    """Those with half of the words, or with two rare ones, the best first.

    The fewer symptoms have a word, the more it counts; in the texts that are shown, twice.
    """
    having = {word: [s for s in SYMPTOMS if _has(s.words, word)] for word in asked}
    scores = {id(symptom): 0 for symptom in SYMPTOMS}
    shared = dict(scores)
    for word, symptoms in having.items():
        for symptom in symptoms:
            twice = 1 + _has(symptom.shown_words, word)
            scores[id(symptom)] += twice * (POINTS // len(symptoms))
            shared[id(symptom)] += 1
    found = [
        each
        for each in SYMPTOMS
        if 2 * shared[id(each)] >= len(asked) > 0
        or (shared[id(each)] > 1 and scores[id(each)] > ENOUGH)
    ]
    found = sorted(found, key=lambda symptom: -scores[id(symptom)])
    return [each for each in found[:MOST] if 2 * scores[id(each)] >= scores[id(found[0])]]


def _has(words, word):
    """Is it one of the words, or one with another ending: gradient, gradients?"""
    return word in words or any(
        min(len(word), len(other)) >= FEWEST_LETTERS
        and abs(len(word) - len(other)) <= MORE_LETTERS
        and (word.startswith(other) or other.startswith(word))
        for other in words
    )
