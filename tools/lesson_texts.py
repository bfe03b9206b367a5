"""Store the text of every section for the search, and each new id: python -m tools.lesson_texts

tests/page_ids.txt holds the ids of messages, questions and rules, whose pages keep their addresses.
"""

import json
import os
from pathlib import Path

from tools.notebooks import ROOT
from tools.website.entry_pages import entries_by_id
from tools.website.links import NOTEBOOKS, page_files
from tools.website.pages import file_page

IDS = ROOT / "tests" / "page_ids.txt"
STORED = ROOT / "autograd_surprises" / "messages" / "lesson_texts.json"
# They repeat what other sections or the search itself show, or list names that answer nothing.
LEFT_OUT = ("Read on", "Recap", "Find your question or message", "Healthy steps")


def lesson_texts() -> str:
    """A line of JSON for each section: its address, as a link from notebooks/, and its texts."""
    rows = []
    for path, url in page_files().items():
        page = file_page(path, url, {})
        link = Path(os.path.relpath(path, NOTEBOOKS)).as_posix()
        for heading, anchor, text in page.sections:
            if heading not in LEFT_OUT and (heading or text.strip()):
                address = f"{link}#{anchor}" if anchor else link
                rows.append([address, page.title, heading, " ".join(text.split())])
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    STORED.write_text(lesson_texts(), encoding="utf-8")
    known = {*IDS.read_text(encoding="utf-8").split(), *entries_by_id()}
    IDS.write_text("\n".join(sorted(known)) + "\n", encoding="utf-8")
