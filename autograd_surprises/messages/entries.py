"""What a search can find: messages of PyTorch and plain questions, which the TOML files hold.

And the text of every section of the lessons, and of the pages beside them.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from autograd_surprises.facts.sections import address

PRELUDE = """
import torch
from torch import nn
from torch.autograd import Function

x = torch.tensor([1.0, 2.0], requires_grad=True)
"""


class Cause(NamedTuple):
    """What may be the cause.

    what      in a few words
    section   the id of the section that shows it, or ""
    token     a regular expression: what stands in the asker's code or text where it is this one
    helps     what to change
    broken    code that shows it, after PRELUDE, and `repaired`: without the mistake. Both print
    """

    what: str
    section: str = ""
    token: str = ""
    helps: str = ""
    broken: str = ""
    repaired: str = ""

    @property
    def address(self) -> str:
        return address(self.section)

    def is_told_by(self, text: str) -> bool:
        return bool(self.token and re.search(self.token, text, re.IGNORECASE | re.MULTILINE))


@dataclass(frozen=True, eq=False)
class Message:
    """An error or a warning.

    id           such as "leaf-in-place"; "family/member" if several messages are much alike
    meaning      what happened
    fix          what helps
    in_function  what to change in a torch.autograd.Function, where that is more specific
    section      the id of the section that teaches it, or ""
    also         other causes of the same message
    repaired     an example without the mistake. It prints something, and a test runs it
    examples     {part of torch's text: a few lines that make torch print it}. A text may stand
                 inside a longer message, … stands for what differs, and case does not matter.
                 The lines run after PRELUDE, and a test runs them
    variants     other wordings of the same, for other versions of torch or other circumstances
    threads      on GitHub where it was asked: "owner/repository#number"
    frequent     its place among those asked most often, which the index lists first: 1, 2, …
    of_web_pages  is it a slip of a web page? The index lists these last

    >>> Message("dtype", "two dtypes", ".float()", examples={"expected dtype": "x"}).wordings
    ('expected dtype',)
    """

    id: str
    meaning: str
    fix: str
    repaired: str = ""
    in_function: str = ""
    section: str = ""
    also: tuple[Cause, ...] = ()
    examples: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    frequent: int = 0
    of_web_pages: bool = False

    @property
    def cause(self) -> str:
        """Its family."""
        return self.id.partition("/")[0]

    @property
    def wordings(self) -> tuple[str, ...]:
        return (*self.examples, *self.variants)

    @property
    def texts(self) -> tuple[str, ...]:
        """As the index lists them: what PyTorch prints."""
        return tuple(self.examples) or self.variants

    @property
    def searched(self) -> str:
        return "\n".join(self.wordings).lower()

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What it may be; `what` is "" where the text itself says it."""
        return (*([Cause("", self.section)] if self.section else []), *self.also)

    @property
    def group(self) -> int:
        """0 if it is asked often, 2 if it is a slip of a web page, else 1."""
        return 0 if self.frequent else 2 if self.of_web_pages else 1


@dataclass(frozen=True, eq=False)
class Question:
    """A question without a message of torch.

    id           such as "grad-is-none"; no message has the same
    asked        the question as the index lists it, in Markdown
    answer       in a sentence or two
    causes       what it may be, the most likely one first
    other_words  for the question, which only the search reads
    example      code that shows the answer where no lesson does. It prints something, and a test
                 runs it after PRELUDE
    threads      on GitHub where it was asked: "owner/repository#number"
    frequent     as in Message
    """

    id: str
    asked: str
    answer: str
    causes: tuple[Cause, ...]
    other_words: tuple[str, ...] = ()
    example: str = ""
    threads: tuple[str, ...] = ()
    frequent: int = 0
    fix = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.asked,)

    @property
    def wordings(self) -> tuple[str, ...]:
        return (self.asked, *self.other_words)

    @property
    def searched(self) -> str:
        return "\n".join(self.wordings).lower()

    @property
    def meaning(self) -> str:
        return self.answer

    @property
    def group(self) -> int:
        return 0 if self.frequent else 1


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    address: str  # its file, as a link from notebooks/, and its anchor
    title: str  # of the page
    heading: str  # "" above the first
    text: str  # prose, code and outputs in one line, without folded answers


@cache
def all_sections() -> tuple[Section, ...]:
    """In reading order, from lesson_texts.json, which `make notebooks` writes.

    >>> all_sections()[0].title
    'Why did backward do that?'
    """
    stored = files("autograd_surprises") / "messages" / "lesson_texts.json"
    rows = json.loads(stored.read_text(encoding="utf-8"))
    return tuple(Section(*row) for row in rows)
