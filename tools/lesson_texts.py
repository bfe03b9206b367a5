"""Store the text of every section for the search, and each new id: python -m tools.lesson_texts

tests/page_ids.txt holds the ids of messages, questions and rules, whose pages keep their addresses.
"""

import html
import json
import os
import re
from pathlib import Path

import nbformat
from markdown_it import MarkdownIt

from lessons.asking.prediction import STORED as QUESTIONS
from tools.notebooks import (
    OUTPUTS_HIDDEN,
    ROOT,
    SOURCE_HIDDEN,
    anchor_of,
    is_folded,
    is_shown,
    is_solution,
    is_unanswered,
)
from tools.website.generated import entries_by_id
from tools.website.sources import FOR_A_KERNEL, NOTEBOOKS, page_files

IDS = ROOT / "tests" / "page_ids.txt"
STORED = ROOT / "autograd_surprises" / "messages" / "lesson_texts.json"
# They repeat what other sections or the search itself show, or list names that answer nothing.
LEFT_OUT = re.compile(
    "Read on|Recap|What did backward do|What you have solved|All questions and messages"
    "|Healthy steps|Digits: (?!a layer that trains)"
)
LEFT_OUT_OF_A_TEXT = re.compile(rf"<details>.*?</details>|{FOR_A_KERNEL.pattern}", re.DOTALL)
READER = MarkdownIt("commonmark").enable("table")


def lesson_texts() -> str:
    """A line of JSON for each section: its address, as a link from notebooks/, and its texts."""
    rows: dict[str, list[str]] = {}
    for path in page_files():
        link = Path(os.path.relpath(path, NOTEBOOKS)).as_posix()
        (title, _), *sections = sections_of(path)
        for heading, text in sections:
            if not LEFT_OUT.match(heading) and (heading or text):
                address = f"{link}#{anchor_of(heading, path)}" if heading else link
                rows.setdefault(address, [address, title, heading, text])
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows.values())
    return f"[\n{lines}\n]\n"


def sections_of(path: Path) -> list[tuple[str, str]]:
    """(heading, text) of the title, of what stands below it, and of each section.

    Folded parts are left out, or a search would give the answers away.
    """
    found: list[tuple[str, list[str]]] = []
    for is_markdown, text in _parts(path):
        tokens = READER.parse(text) if is_markdown else []
        for before, token in zip([None, *tokens], tokens, strict=False):
            if token.type == "inline":
                words = [" " if part.type == "softbreak" else part.content
                         for part in token.children if part.type != "html_inline"]  # fmt: skip
                if before.tag in ("h1", "h2", "h3"):
                    found += [("".join(words), []), *([("", [])] if before.tag == "h1" else [])]
                else:
                    found[-1][1].append("".join(words))
            elif token.type == "fence":
                found[-1][1].append(token.content)
        if not is_markdown:
            found[-1][1].append(text)
    return [(heading, " ".join(" ".join(texts).split())) for heading, texts in found]


def _parts(path):
    """(is it Markdown?, text) of what a page shows before anything is unfolded."""
    if path.suffix == ".md":
        yield True, path.read_text(encoding="utf-8")
        return
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            yield True, LEFT_OUT_OF_A_TEXT.sub("", cell.source)
        elif is_shown(cell) and not is_solution(cell):
            if not is_folded(cell, SOURCE_HIDDEN):
                yield False, cell.source
            is_left_out = is_folded(cell, OUTPUTS_HIDDEN) or is_unanswered(cell)
            for output in [] if is_left_out else cell.outputs:
                data = output.get("data", {})
                asked = " ".join(each["question"] for each in data.get(QUESTIONS, ()))
                markdown = data.get("text/markdown", "")
                page = re.sub("<[^>]*>", "", html.unescape(data.get("text/html", "")))
                plain = "" if "image/png" in data else data.get("text/plain", "")
                said = asked.replace("`", "") or markdown or page or plain
                yield bool(markdown), output.get("text", said)


if __name__ == "__main__":
    STORED.write_text(lesson_texts(), encoding="utf-8")
    known = {*IDS.read_text(encoding="utf-8").split(), *entries_by_id()}
    IDS.write_text("\n".join(sorted(known)) + "\n", encoding="utf-8")
