"""A page for each message of PyTorch, each plain question and each rule of the doctor.

The address of a page stays: m/ID.html. tests/page_ids.txt holds the ids.
"""

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bs4 import BeautifulSoup
from nbconvert.filters import markdown2html

from autograd_surprises.facts.sections import address
from autograd_surprises.messages.catalogue import all_messages, all_questions
from autograd_surprises.messages.entries import PRELUDE, Cause, Message, Question
from autograd_surprises.show.findings import with_code
from autograd_surprises.symptoms.all_rules import all_rules, in_general
from autograd_surprises.symptoms.rule import Rule
from cases.rule_examples import rule_examples
from lessons.start_here.index_text import section_name
from tools.printed_by_torch import every_warning, output_of, printed_by_torch
from tools.website.cells import highlight
from tools.website.links import entry_url, page_url
from tools.website.pages import TEMPLATES, Page, sections_of

MOVED: dict[str, str] = {}  # {an id that is gone: the id whose page answers instead}
LINES = [line for line in PRELUDE.split("\n") if line]
BEGINNINGS = dict(zip(("torch", "nn", "Function", "x"), LINES, strict=True))
Entry = Message | Question | Rule


class Part(NamedTuple):
    """What a page says of one entry, as HTML.

    examples, repaired  pairs of code and what it prints; `shows` is the heading of the first
    """

    kind: str
    title: str
    meaning: str
    fix: str = ""
    causes: Sequence[dict[str, str]] = ()
    shows: str = ""
    examples: Sequence[tuple[str, str]] = ()
    repaired: Sequence[tuple[str, str]] = ()
    threads: Sequence[dict[str, str]] = ()


def entries_by_id() -> dict[str, list[Entry]]:
    """Messages, questions and rules. A message and a rule about the same may share an id."""
    found: dict[str, list[Entry]] = {}
    for entry in (*all_messages(), *all_questions(), *all_rules().values()):
        found.setdefault(entry.id, []).append(entry)
    return found


def entry_pages() -> list[Page]:
    """All of these pages. The examples are run, and their pages show what torch prints."""
    with every_warning():
        return [entry_page(id, entries) for id, entries in entries_by_id().items()]


def entry_page(id: str, entries: Iterable[Entry]) -> Page:
    """The page of what has this id."""
    parts = [_part(entry) for entry in entries]
    body = TEMPLATES.get_template("entry.html").render(parts=parts)
    soup = BeautifulSoup(body, "html.parser")
    return Page(entry_url(id), soup.h1.get_text(), body, sections_of(soup))


def redirections() -> dict[str, str]:
    """{file: text} for each id that is gone."""
    template = TEMPLATES.get_template("moved.html")
    return {
        entry_url(old): template.render(base="../" * entry_url(old).count("/"), url=entry_url(new))
        for old, new in MOVED.items()
    }


def missing_page() -> Page:
    """What a web server shows for an address that it does not have."""
    body = (
        "<h1>There is no such page</h1>\n<p>Search for your message or question above, or begin "
        'with <a href="index.html">the notebooks</a>.</p>'
    )
    return Page("404.html", "There is no such page", body, [("", "", "There is no such page")])


def _part(entry):
    if isinstance(entry, Message):
        main = [Cause("", entry.section)] if entry.section else []
        return Part(
            "message",
            f"<code>{html.escape(entry.wordings[0])}</code>",
            _sentence(entry.meaning),
            with_code(entry.fix),
            _links([*main, *entry.also]),
            "Code that makes PyTorch print it",
            [(_shown(code), _printed(code)) for code in entry.examples.values()],
            _with_output(entry.repaired),
            _threads(entry.threads),
        )
    if isinstance(entry, Question):
        asked = markdown2html(entry.asked).strip().removeprefix("<p>").removesuffix("</p>")
        return Part(
            "question",
            asked,
            with_code(entry.answer),
            causes=_links(entry.causes),
            shows="Code that shows it",
            examples=_with_output(entry.example),
            threads=_threads(entry.threads),
        )
    return Part(
        "rule",
        f"<code>{entry.id}</code>, a finding of the doctor",
        _sentence(in_general(entry.sentence)),
        with_code(in_general(entry.fix)),
        _links([Cause("", entry.section)] if entry.section else []),
        "Code in which the doctor finds it",
        *([(highlight(code), printed)] for code, printed in rule_examples().get(entry.id, ())),
    )


def _sentence(text):
    """With a capital letter, unless it begins with code or a name, and with a full stop."""
    if text[1:2].islower() and "(" not in text.split(" ")[0]:
        text = text[0].upper() + text[1:]
    return with_code(text if text.endswith((".", "…")) or not text else f"{text}.")


def _shown(code):
    """The lines as they can be pasted, as HTML."""
    own = code.splitlines()
    needed = [line for name, line in BEGINNINGS.items() if _uses(code, name) and line not in own]
    return highlight("\n".join([*needed, *([""] if needed else []), code.strip()]))


def _with_output(code):
    return [(_shown(code), output_of(code))] if code else []


def _printed(code):
    return "\n".join(f"{type(error).__name__}: {error}" for error in printed_by_torch(code))


def _uses(code, name):
    """Does the code use this name of PRELUDE? A tensor x needs torch, too."""
    names = {"torch", "x"} if name == "torch" else {name}
    words = {word for line in code.splitlines() for word in _words(line)}
    return bool(names & words)


def _words(line):
    return "".join(letter if letter.isidentifier() else " " for letter in line).split()


def _threads(names):
    urls = [f"https://github.com/{name.replace('#', '/issues/')}" for name in names]
    return [{"name": name, "url": url} for name, url in zip(names, urls, strict=True)]


def _links(causes):
    return [
        {
            "what": with_code(what),
            "url": page_url(address(section)),
            "name": section_name(address(section)),
        }
        for what, section in causes
    ]
