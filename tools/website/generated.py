"""Pages that no file holds, as Markdown, and the data of the box 'Paste your message'.

The address of an entry's page stays: m/ID.html. tests/page_ids.txt holds the ids.
"""

import re
from operator import attrgetter

from autograd_surprises.atlas import versions
from autograd_surprises.atlas.record import stored
from autograd_surprises.messages import pasted, queries, words
from autograd_surprises.messages.catalogue import all_messages, all_questions, index_entries
from autograd_surprises.messages.entries import PRELUDE, Message, Question
from autograd_surprises.symptoms.all_rules import all_rules, in_general
from autograd_surprises.symptoms.rule import Rule
from cases.rule_examples import rule_examples
from lessons.start_here.index_text import GROUPS, answers, escaped, markdown_texts
from tools.atlas import changed, table
from tools.printed_by_torch import output_and_errors_of, output_of
from tools.website.sources import NOTEBOOKS, with_links

ATLAS = """Each number was measured with its own version of torch: [how to read \
this](../ATLAS.html), [13: What changed](../12_gradient_atlas.html#What-changed), [others that \
changed, and the numbers as JSON](index.html)."""


def entries_by_id() -> dict[str, list[Message | Question | Rule]]:
    """A message and a rule about the same may share an id."""
    found: dict[str, list[Message | Question | Rule]] = {}
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
    for id, entries in entries_by_id().items():
        if not is_a_line(id):
            pages[f"m/{id}"] = _page(*(part for each in entries for part in _parts(each)))
    return pages


def _page(title, *parts):
    return "\n\n".join(["---\norphan: true\n---", f"# {title.removeprefix('## ')}", *parts]) + "\n"


def _parts(entry):
    """A heading, and what follows it."""
    if isinstance(entry, Rule):
        yield f"## What the doctor says: `{entry.id}`"
        meaning, fix = in_general(entry.sentence), in_general(entry.fix)
        answer = answers(queries.Answer((Message("", meaning, fix, section=entry.section),)))
    else:
        yield f"## {markdown_texts(entry)[0]}"
        answer = answers(queries.Answer((entry,)))
    answer = re.sub(r"\\`(.*?)\\`", lambda code: f"`{code[1].replace(chr(92), '')}`", answer)
    yield with_links(answer.partition("\n\n")[2], NOTEBOOKS, "../" * (1 + entry.id.count("/")))
    for heading, code, printed in _examples(entry):
        yield f"## {heading}\n\n{_block(code, printed)}"
    for cause in filter(attrgetter("repaired"), getattr(entry, "causes", ())):
        yield f"## {escaped(cause.what)}\n\nRepaired:"
        yield _block(_whole(cause.repaired), output_of(cause.repaired))
        yield f"Broken:\n\n{_block(_whole(cause.broken), output_and_errors_of(cause.broken))}"
    for name in getattr(entry, "threads", ()):
        yield f"Asked in [{name}](https://github.com/{name.replace('#', '/issues/')})."


def _examples(entry):
    """(heading, code, what it prints)."""
    if isinstance(entry, Rule):
        headings = ("Code in which the doctor finds it", "Repaired")
        for heading, example in zip(headings, rule_examples().get(entry.id, ()), strict=False):
            yield heading, *example
        return
    own = {"Repaired": getattr(entry, "repaired", ""), "Code": getattr(entry, "example", "")}
    for heading, code in own.items():
        if code:
            yield heading, _whole(code), output_of(code)
    for code in getattr(entry, "examples", {}).values():
        yield (
            "Code that makes PyTorch print it",
            _whole(code),
            output_and_errors_of(code),
        )


def _block(code, printed):
    printed = re.sub("0x[0-9a-f]+", "0x…", printed)  # an address is another one in each run
    return f"````python\n{code.rstrip()}\n````\n\n````text\n{printed}\n````"


def _whole(code):
    """With those lines of PRELUDE that it uses."""
    for line in filter(None, reversed(PRELUDE.splitlines())):
        name = line.partition(" =")[0].split()[-1]
        if re.search(rf"\b{name}\b", code):
            code = f"{line}\n{code}"
    return code


def _list():
    """All entries, a line each."""
    lines = ['The same in a terminal: `python -m autograd_surprises explain "your message"`.']
    for group, title in enumerate(GROUPS):
        lines += ["", f"## {title}", ""]
        listed = [entry for entry in index_entries() if entry.group == group]
        lines += [f"- [{t}](m/{each.id}.html)" for each in listed for t in markdown_texts(each)]
    lines += ["", "## Rules of the doctor", ""]
    for id, rule in sorted(all_rules().items()):
        name = f'<a id="{id}"></a>`{id}`' if is_a_line(id) else f"[`{id}`](m/{id}.html)"
        fix = f"; {in_general(rule.fix)}" if rule.fix else ""
        lines.append(f"- {name}: {escaped(in_general(rule.sentence) + fix)}")
    return _page("Messages, questions and rules", "\n".join(lines))


def _atlas_pages():
    found: dict[str, list] = {}
    for row in changed([*map(stored, versions())]):
        found.setdefault(re.match(r"`([\w.]+)", row[1])[1], []).append(row)
    span = f"from torch {versions()[0]} to {versions()[-1]}"
    return {
        "atlas/index": _page(
            f"Gradients that changed {span}",
            "The [gradient atlas](../ATLAS.html) has all operations of the newest version.",
            "\n".join(f"- [`{name}`]({name}.html)" for name in sorted(found)),
            "## The numbers as JSON",
            "`elementwise` and `ties` have an entry for each line of code.",
            "\n".join(f"- [torch {name}](torch-{name}.json)" for name in reversed(versions())),
        ),
        **{
            f"atlas/{name}": _page(f"`{name}`: what backward returns, {span}", ATLAS, table(rows))
            for name, rows in found.items()
        },
    }


def box_data() -> dict:
    """The constants of messages/queries.py and the entries, for static/box.js."""
    entries = {
        each.id: {
            "said": each.meaning,
            "wordings": each.wordings,
            "fields": queries.fields_of(each),
            "weight": queries.weight_of(each),
            "causes": [(c.token, c.what, c.helps) for c in each.causes if c.token],
        }
        for each in index_entries()
    }
    order = [message.id for message in all_messages()]  # the first that matches counts
    constants = {**vars(queries), **vars(words), **vars(pasted), "WORD": words.NAME}
    constants = {name: value for name, value in constants.items() if name.isupper()}
    return {**constants, "messages": order, "entries": entries}
