"""Pages that no file holds, as Markdown, and the data of the box 'Paste your message'.

The address of an entry's page stays: m/ID.html. tests/page_ids.txt holds the ids.
"""

import re

from autograd_surprises.atlas import changes, versions
from autograd_surprises.messages import pasted, queries, words
from autograd_surprises.messages.catalogue import all_messages, all_questions, index_entries
from autograd_surprises.messages.entries import PRELUDE, Cause, Message, Question
from autograd_surprises.symptoms.all_rules import all_rules, in_general
from autograd_surprises.symptoms.rule import Rule
from cases.rule_examples import rule_examples
from lessons.start_here.index_text import GROUPS, section_name
from tools.notebooks import ROOT
from tools.printed_by_torch import every_warning, output_of, printed_by_torch
from tools.website.sources import MEASURED, with_links

Entry = Message | Question | Rule


def entries_by_id() -> dict[str, list[Entry]]:
    """Messages, questions and rules. A message and a rule about the same may share an id."""
    found: dict[str, list[Entry]] = {}
    for entry in (*all_messages(), *all_questions(), *all_rules().values()):
        found.setdefault(entry.id, []).append(entry)
    return found


def is_a_line(id: str) -> bool:
    """Has a rule neither code nor a lesson? Then it is a line of the list, and has no page."""
    first = entries_by_id()[id][0]
    return isinstance(first, Rule) and not first.section and id not in rule_examples()


def generated_pages() -> dict[str, str]:
    """{page, without .html: Markdown}. The examples are run: their pages show what torch prints."""
    pages = {"messages": _list(), **_atlas_pages()}
    with every_warning():
        for id, entries in entries_by_id().items():
            if not is_a_line(id):
                title, *parts = [part for each in entries for part in _parts(each)]
                pages[f"m/{id}"] = _page(title.removeprefix("## "), parts)
    return pages


def _page(title, parts):
    return "\n\n".join(["---\norphan: true\n---", f"# {title}", *filter(None, parts)]) + "\n"


def _parts(entry):
    """A heading, and what follows it, as Markdown."""
    if isinstance(entry, Rule):
        title = f"What the doctor says: {_code(entry.id)}"
        said, fix = in_general(entry.sentence), in_general(entry.fix)
        causes, threads = [Cause("", entry.section)] if entry.section else [], ()
    else:
        title = _name(entry, entry.texts[0])
        said, fix, causes, threads = entry.meaning, entry.fix, entry.causes, entry.threads
    yield from [f"## {title}", _sentence(said), fix and f"**What helps**: {_text(fix)}"]
    for heading, shown in _examples(entry).items():
        yield f"## {heading}" if shown else ""
        for code, printed in shown:
            yield f"````python\n{code}\n````\n\n````text\n{printed}\n````"
    up = "../" * (1 + entry.id.count("/"))
    yield "## In the lessons" if causes else ""
    for cause in causes:
        link = with_links(f"({cause.address})", ROOT / "notebooks").replace("(", f"({up}")
        what = f"{_text(cause.what)}: " if cause.what else ""
        yield f"- {what}[{section_name(cause.address)}]{link}"
    yield "## Where it was asked" if threads else ""
    yield "\n".join(
        f"- [{name}](https://github.com/{name.replace('#', '/issues/')})" for name in threads
    )


def _examples(entry):
    """{heading: pairs of code and what it prints}."""
    if isinstance(entry, Rule):
        examples = rule_examples().get(entry.id, ())
        headings = ("Code in which the doctor finds it", "Repaired")
        return {heading: [each] for heading, each in zip(headings, examples, strict=False)}
    if isinstance(entry, Question):
        return {"Code that shows it": _with_output(entry.example)}
    printed = [
        (PRELUDE.lstrip() + code, "\n".join(map(_last_line, printed_by_torch(code))))
        for code in entry.examples.values()
    ]
    return {
        "Code that makes PyTorch print it": printed,
        "Repaired": _with_output(entry.repaired),
    }


def _with_output(code):
    return [(PRELUDE.lstrip() + code, output_of(code))] if code else []


def _last_line(error):
    return f"{type(error).__name__}: {error}"


def _sentence(text):
    """With a capital letter, unless it begins with code or a name, and with a full stop."""
    if text[1:2].islower() and "(" not in text.split(" ")[0]:
        text = text[0].upper() + text[1:]
    return _text(text if text.endswith((".", "…")) or not text else f"{text}.")


def _text(text):
    """A text in which only `code` is Markdown."""
    parts = re.split("(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([\\*_\[\]<>#|~${}`])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _code(text):
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _name(entry, text):
    return _code(text) if isinstance(entry, Message) else text


def _list():
    """All entries, a line each."""
    parts = ['The same is in a terminal: `python -m autograd_surprises explain "your message"`.']
    for group, title in enumerate(GROUPS):
        listed = [entry for entry in index_entries() if entry.group == group]
        named = [(each, text) for each in listed for text in each.texts]
        lines = [f"- [{_name(each, text)}](m/{each.id}.html)" for each, text in named]
        parts += [f"## {title}", "\n".join(lines)]
    parts.append("## Rules of the doctor")
    for id, rule in sorted(all_rules().items()):
        name = f'<a id="{id}"></a>`{id}`' if is_a_line(id) else f"[`{id}`](m/{id}.html)"
        fix = rule.fix and f"; {in_general(rule.fix)}"
        parts.append(f"- {name}: {_text(in_general(rule.sentence) + fix)}")
    return _page("Messages, questions and rules", parts)


def box_data() -> dict:
    """The constants of messages/queries.py and the entries, for static/box.js."""
    constants = {
        name: sorted(value) if isinstance(value, frozenset) else value
        for module in (queries, words, pasted)
        for name, value in vars(module).items()
        if name.isupper()
    }
    entries = {
        entry.id: {
            "title": entry.texts[0],
            "said": entry.meaning,
            "wordings": getattr(entry, "wordings", ()),
            "searched": entry.searched,
            "weight": queries.weight_of(entry),
            "fields": queries.fields_of(entry),
        }
        for entry in index_entries()
    }
    order = [message.id for message in all_messages()]  # the first that matches counts
    return {**constants, "WORD": words.NAME, "messages": order, "entries": entries}


def changed_operations() -> dict[str, list]:
    """{operation: (version, its change) of each change, the latest first}."""
    found: dict[str, list] = {}
    measured = versions()
    for earlier, later in reversed([*zip(measured, measured[1:], strict=False)]):
        for change in changes(earlier, later):
            name = re.match(r"[\w.]+", change.expression)[0]
            found.setdefault(name, []).append((later, change))
    return dict(sorted(found.items()))


def _atlas_pages():
    pages = {}
    for name, changed in changed_operations().items():
        lines = ["| torch | line of code | at | what | before | since |", "|---|---|---|---|---|---|"]
        for version, each in changed:
            texts = map(_text, (each.points, each.what, each.before, each.after))
            lines.append(f"| {version} | `{each.expression}` | {' | '.join(texts)} |")
        span = f"from torch {versions()[0]} to {versions()[-1]}"
        parts = [
            "At a kink, a jump or the edge of a domain, the gradient is a choice, and for this "
            "operation it has changed. Each number was measured with its own version of torch.",
            "\n".join(lines),
            "[How to read this, and all other operations](../ATLAS.html) · [13: What changed]"
            "(../13_gradient_atlas.html#What-changed) · [The numbers as JSON](index.html)",
        ]
        pages[f"atlas/{name}"] = _page(f"`{name}`: what backward returns, {span}", parts)
    operations = [f"- [`{name}`]({name}.html)" for name in changed_operations()]
    files = [f"- [torch {name}](torch-{name}.json)" for name in reversed(versions())]
    parts = [
        "What backward returns at kinks, at jumps and at the edges of domains was measured with "
        "each version of torch. The [gradient atlas](../ATLAS.html) has all operations of the "
        "newest one.",
        "\n".join(operations),
        "## The numbers as JSON",
        "`elementwise` and `ties` have an entry for each line of code.",
        "\n".join(files),
    ]
    pages["atlas/index"] = _page("Gradients that changed between versions of torch", parts)
    return pages
