"""The index of messages and questions as text: all of it, and the answers of a search."""

import re
from pathlib import PurePosixPath

from autograd_surprises.messages.catalogue import index_entries
from autograd_surprises.messages.entries import Message, Question, Section
from autograd_surprises.messages.queries import Answer

SHORT, MEANING, FIX, SECTION = "In short", "What it means", "What helps", "Explained in"
TOLD, OTHERS, LESSONS = "Here probably", "Other causes", "In the lessons"
GROUPS = (
    "Asked most often",
    "Other questions and messages, in the order of the notebooks",
    "Mistakes on web pages that these notebooks examine",
)


class WholeIndex:
    """All questions and messages, shown as a list.

    >>> print(str(WholeIndex()).splitlines()[0])
    **Asked most often**
    """

    def _repr_markdown_(self):
        return whole_index()

    def __repr__(self):
        return whole_index()


def whole_index() -> str:
    """The index as Markdown: a list for each group, and in it the causes of each entry.

    >>> print(whole_index().splitlines()[2])
    - The gradient is `None`: there is no `.grad` after `backward()`
    """
    lines = []
    for group, title in enumerate(GROUPS):
        lines += ["", f"**{title}**", ""]
        for entry in _listed(group):
            first, *others = [cause for cause in entry.causes if cause.section]
            alone = not (first.what and others)  # then its link stands beside the text
            texts = " · ".join(markdown_texts(entry))
            lines.append(f"- {texts} {_link(first.address)}" if alone else f"- {texts}")
            below = others if alone else [first, *others]
            lines += [f"  - {escaped(each.what)}: {_link(each.address)}" for each in below]
    return "\n".join(lines[1:])


def answers(answer: Answer) -> str:
    """What is found, as Markdown: of an entry, what it means, what helps, and its sections.

    >>> print(answers(Answer(index_entries()[:1])).splitlines()[0])
    The gradient is `None`: there is no `.grad` after `backward()`
    """
    parts = [_answer(each, answer) for each in answer.entries]
    if answer.sections:
        places = [f"- [{escaped(name_of(each))}]({each.address})" for each in answer.sections]
        lessons = "\n".join([f"**{LESSONS}:**", "", *places])
        parts.insert(0 if answer.found[0] in answer.sections else len(parts), lessons)
    return "\n\n".join([answer.verdict, *parts] if answer.is_guess or not parts else parts)


def section_name(address: str) -> str:
    """The text of a link to the section at this address.

    >>> section_name("02_backward_needs_a_gradient.ipynb#The-shape-of-v")
    '02: The shape of v'
    """
    heading = address.partition("#")[2].replace("-", " ")
    return f"{_page(address)}: {heading}" if address else ""


def name_of(section: Section) -> str:
    """The text of a link to it: its page, and its heading."""
    return f"{_page(section.address)}: {section.heading or section.title}"


def _page(address):
    file = PurePosixPath(address.partition("#")[0])
    return file.name[:2] if file.suffix == ".ipynb" else file.stem


def explanation(entry: Message | Question) -> list[tuple[str, str]]:
    """(label, text): what a message means and what helps, or the short answer to a question."""
    if isinstance(entry, Message):
        return [(MEANING, entry.meaning), (FIX, entry.fix)]
    return [(SHORT, entry.meaning)]


def _listed(group):
    taught = (entry for entry in index_entries() if any(c.section for c in entry.causes))
    return [entry for entry in taught if entry.group == group]


def _answer(entry, answer):
    texts = "  \n".join(markdown_texts(entry))
    told = answer.told(entry)
    lines = [f"**{label}:** {escaped(text)}" for label, text in explanation(entry)]
    lines += [f"{TOLD}: {_in_full(cause)}" for cause in told]
    lines += [_in_full(cause) for cause in entry.causes if not cause.what]
    others = [cause for cause in entry.causes if cause.what and cause not in told]
    if told or entry is not answer.entries[0]:
        names = (
            f"[{escaped(each.what)}]({each.address})" if each.section else escaped(each.what)
            for each in others
        )
        lines += [f"{OTHERS}: {'; '.join(names)}"] if others else []
    else:
        lines += map(_in_full, others)
    return "\n".join([texts, "", *(f"- {line}" for line in lines)])


def _in_full(cause):
    link = _link(cause.address) if cause.section else ""
    return " ".join(
        filter(None, [f"**{escaped(cause.what) or SECTION}:**", escaped(cause.helps), link])
    )


def markdown_texts(entry: Message | Question) -> list[str]:
    """What PyTorch prints, as code, or the question."""
    return [*map(_code, entry.texts)] if isinstance(entry, Message) else [*entry.texts]


def escaped(text: str) -> str:
    """A text of which Markdown changes nothing."""
    return re.sub(r"([\\`*_\[\]<>#|~$])", r"\\\1", text)


def _code(text):
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _link(address):
    return f"[{section_name(address)}]({address})"
