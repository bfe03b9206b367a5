"""The index of symptoms as text: all of it, and the answers of a search."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lessons.symptom_index import SYMPTOMS, Symptom

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
    """The index as Markdown: a list for each group, and in it what each symptom may be.

    >>> print(whole_index().splitlines()[2])
    - The gradient is `None`: there is no `.grad` after `backward()`
    """
    lines = []
    for group, title in enumerate(GROUPS):
        lines += ["", f"**{title}**", ""]
        for symptom in _listed(group):
            first, *others = symptom.causes
            alone = not (first.what and others)  # then its link stands beside the text
            texts = " · ".join(_markdown_texts(symptom))
            lines.append(f"- {texts} {_link(first.section)}" if alone else f"- {texts}")
            below = others if alone else symptom.causes
            lines += [f"  - {_escaped(what)}: {_link(section)}" for what, section in below]
    return "\n".join(lines[1:])


def plain_index() -> str:
    """The index as plain text: each symptom, and below it what it may be, with the section."""
    lines = []
    for group, title in enumerate(GROUPS):
        lines += ["", title.upper()]
        for symptom in _listed(group):
            lines += symptom.texts
            for what, section in symptom.causes:
                lines.append(f"    {what}{': ' if what else ''}{section_name(section)}")
    return "\n".join(lines[1:])


def answers(symptoms: Iterable[Symptom]) -> str:
    """What they mean, what helps and which sections explain them, as Markdown; or what to do.

    >>> print(answers(SYMPTOMS[:1]).splitlines()[0])
    The gradient is `None`: there is no `.grad` after `backward()`
    """
    return "\n\n".join(map(_answer, symptoms)) or NOTHING_FOUND


def section_name(section: str) -> str:
    """The text of a link to a section.

    >>> section_name("backward.shape")
    '02: The shape of v'
    """
    notebook, _, heading = section.partition("#")
    return f"{notebook[:2]}: {heading.replace('-', ' ')}" if section else ""


def said_of(symptom: Symptom) -> list[tuple[str, str]]:
    """(label, words): what a message means and what helps, or the short answer to a question."""
    if symptom.of_torch:
        return [(MEANING, symptom.meaning), (FIX, symptom.fix)]
    return [(SHORT, symptom.meaning)]


def _listed(group):
    return [each for each in SYMPTOMS if each.causes and each.group == group]


def _answer(symptom):
    texts = "  \n".join(_markdown_texts(symptom))
    lines = [f"**{label}:** {_escaped(words)}" for label, words in said_of(symptom)]
    lines += [
        f"{f'{_escaped(what)}:' if what else f'**{SECTION}:**'} {_link(section)}"
        for what, section in symptom.causes
    ]
    return "\n".join([texts, "", *(f"- {line}" for line in lines)])


def _markdown_texts(symptom):
    return [_code(text) for text in symptom.texts] if symptom.of_torch else [*symptom.texts]


def _escaped(words):
    return re.sub(r"([\\`*_\[\]<>#|~$])", r"\\\1", words)


def _code(text):
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _link(section):
    return f"[{section_name(section)}]({section})"
