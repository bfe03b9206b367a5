"""The text of every section of the lessons, and of the pages beside them, for the search."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Section:
    """A section: the title of its page, its heading ("" above the first), and its text.

    address  its file, as a link from notebooks/, and its anchor
    text     prose, code and outputs in one line, without folded answers
    """

    address: str
    title: str
    heading: str
    text: str


@cache
def all_sections() -> tuple[Section, ...]:
    """In reading order, from lesson_texts.json, which `make notebooks` writes.

    >>> all_sections()[0].title
    'Why did backward do that?'
    """
    stored = files("autograd_surprises") / "messages" / "lesson_texts.json"
    rows = json.loads(stored.read_text(encoding="utf-8"))
    return tuple(Section(*row) for row in rows)
