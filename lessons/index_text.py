"""The index of messages and questions as text: all of it, and the answers of a search."""

import re
from collections.abc import Iterable

from autograd_surprises.messages.index import IndexEntry, index_entries

SHORT, MEANING, FIX, SECTION = "In short", "What it means", "What helps", "Explained in"
NOTHING_FOUND = (
    "Nothing found. The index is about gradients only. If you have a message, paste the last line "
    "of the traceback, too, because it names the error. Otherwise, type fewer words, such as the "
    "name of a function, or look at the list below."
)
GROUPS = (
    "Asked most often",
    "Other questions and messages, in the order of the notebooks",
    "Slips of web pages that these notebooks examine",
)


def whole_index() -> str:
    """The index as Markdown: a list for each group, and in it the causes of each entry.

    >>> print(whole_index().splitlines()[2])
    - The gradient is `None`: there is no `.grad` after `backward()`
    """
    lines = []
    for group, title in enumerate(GROUPS):
        lines += ["", f"**{title}**", ""]
        for entry in _listed(group):
            first, *others = entry.causes
            alone = not (first.what and others)  # then its link stands beside the text
            texts = " · ".join(_markdown_texts(entry))
            lines.append(f"- {texts} {_link(first.address)}" if alone else f"- {texts}")
            below = others if alone else entry.causes
            lines += [f"  - {_escaped(what)}: {_link(address)}" for what, address in below]
    return "\n".join(lines[1:])


def plain_index() -> str:
    """The index as plain text: each entry, and below it its causes, with their sections."""
    lines = []
    for group, title in enumerate(GROUPS):
        lines += ["", title.upper()]
        for entry in _listed(group):
            lines += entry.texts
            for what, address in entry.causes:
                lines.append(f"    {what}{': ' if what else ''}{section_name(address)}")
    return "\n".join(lines[1:])


def answers(entries: Iterable[IndexEntry]) -> str:
    """What they mean, what helps and which sections explain them, as Markdown; or what to do.

    >>> print(answers(index_entries()[:1]).splitlines()[0])
    The gradient is `None`: there is no `.grad` after `backward()`
    """
    return "\n\n".join(map(_answer, entries)) or NOTHING_FOUND


def section_name(address: str) -> str:
    """The text of a link to the section at this address.

    >>> section_name("02_backward_needs_a_gradient.ipynb#The-shape-of-v")
    '02: The shape of v'
    """
    notebook, _, heading = address.partition("#")
    return f"{notebook[:2]}: {heading.replace('-', ' ')}" if address else ""


def explanation(entry: IndexEntry) -> list[tuple[str, str]]:
    """(label, text): what a message means and what helps, or the short answer to a question."""
    if entry.is_message:
        return [(MEANING, entry.meaning), (FIX, entry.fix)]
    return [(SHORT, entry.meaning)]


def _listed(group):
    return [entry for entry in index_entries() if entry.causes and entry.group == group]


def _answer(entry):
    texts = "  \n".join(_markdown_texts(entry))
    lines = [f"**{label}:** {_escaped(text)}" for label, text in explanation(entry)]
    lines += [
        f"{f'{_escaped(what)}:' if what else f'**{SECTION}:**'} {_link(address)}"
        for what, address in entry.causes
    ]
    return "\n".join([texts, "", *(f"- {line}" for line in lines)])


def _markdown_texts(entry):
    return [_code(text) for text in entry.texts] if entry.is_message else [*entry.texts]


def _escaped(text):
    return re.sub(r"([\\`*_\[\]<>#|~$])", r"\\\1", text)


def _code(text):
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _link(address):
    return f"[{section_name(address)}]({address})"
