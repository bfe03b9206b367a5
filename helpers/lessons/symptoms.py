"""The index of messages: what PyTorch says, and the section of a notebook that explains it."""

from __future__ import annotations

from autograd_surprises.messages import MESSAGES
from autograd_surprises.show.table import Table


def symptom_table() -> Table:
    """The messages that a notebook explains, with a link to the section, in the notebooks' order.

    >>> symptom_table().headings
    ('PyTorch says', 'Explained in')
    """
    sections: dict[str, list[str]] = {}
    for message in MESSAGES:
        if message.section:
            sections.setdefault(message.section, []).extend(message.examples)
    by_notebook = sorted(sections, key=lambda section: section[:2])
    return Table(
        ("PyTorch says", "Explained in"),
        tuple((_code(text), _link(name)) for name in by_notebook for text in sections[name]),
    )


def _code(text):
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _link(section):
    notebook, _, heading = section.partition("#")
    return f"[{notebook[:2]}: {heading.replace('-', ' ')}]({section})"
