"""The index of messages: what PyTorch says, and the section of a notebook that explains it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autograd_surprises.messages import MESSAGES, Message, in_order_of_notebooks
from autograd_surprises.show.table import Table

MEANING, FIX, SECTION = "What it means", "What helps", "Explained in"
NOTHING_FOUND = (
    "Nothing found. The index has only messages about gradients. Paste the last line of the "
    "traceback, too, because it names the error. Or type fewer words, such as the name of a "
    "function. If you have no message, look at the list below."
)


def symptom_table() -> Table:
    """The messages that a notebook explains, with a link to the section, in the notebooks' order.

    >>> symptom_table().headings
    ('PyTorch says', 'Explained in')
    """
    sections: dict[str, list[str]] = {}
    for message in in_order_of_notebooks(MESSAGES):
        if message.section:
            sections.setdefault(message.section, []).extend(message.examples)
    return Table(
        ("PyTorch says", SECTION),
        tuple((_code(text), _link(name)) for name in sections for text in sections[name]),
    )


def answers(messages: Iterable[Message]) -> str:
    """What these messages mean and what helps, as Markdown, or what to do if there are none.

    >>> print(answers(MESSAGES[:1]).splitlines()[2])
    - **What it means:** PyTorch's package is called torch
    """
    return "\n\n".join(map(_answer, messages)) or NOTHING_FOUND


def section_name(section: str) -> str:
    """The text of a link to a section.

    >>> section_name("02_backward_needs_a_gradient.ipynb#The-shape-of-v")
    '02: The shape of v'
    """
    notebook, _, heading = section.partition("#")
    return f"{notebook[:2]}: {heading.replace('-', ' ')}" if section else ""


def _answer(message: Message):
    said = [(MEANING, _escaped(message.meaning)), (FIX, _escaped(message.fix))]
    if message.section:
        said.append((SECTION, _link(message.section)))
    texts = "  \n".join(map(_code, message.examples))
    return "\n".join([texts, "", *(f"- **{label}:** {words}" for label, words in said)])


def _escaped(words):
    return re.sub(r"([\\`*_\[\]<>#|~$])", r"\\\1", words)


def _code(text):
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _link(section):
    return f"[{section_name(section)}]({section})"
