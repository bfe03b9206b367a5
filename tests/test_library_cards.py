"""The functions of other libraries: their text is code, and the stored findings are about them."""

import json
from pathlib import Path

from tools.library_functions import ENTRIES

ROOT = Path(__file__).parent.parent
STORED = json.loads((ROOT / "lessons/measured/library_cards.json").read_text("utf-8"))
PAGE = (ROOT / "docs/report_cards.md").read_text("utf-8")


def test_what_an_entry_says_is_code():
    for entry in ENTRIES:
        compile(entry.imports, entry.name, "exec")
        for text in (entry.fn, entry.inputs, entry.like or "None"):
            compile(text, entry.name, "eval")


def test_all_of_them_were_asked_and_are_on_the_page():
    asked = [(card["package"], card["name"]) for card in STORED["cards"]]
    assert asked == [(entry.package, entry.name) for entry in ENTRIES]
    for card in STORED["cards"]:
        row = f"| `{card['name']}` | {card['package']} {card['version']} | "
        assert row + ", ".join(card["found"]) in PAGE


def test_every_finding_has_lines_that_show_it_and_a_fault_says_what_a_user_sees():
    sections = PAGE.partition("\n## To report\n")[2]
    for card in STORED["cards"]:
        heading = f"\n### {card['name']}, {card['package']} {card['version']}\n\n"
        assert (heading in sections) == bool(card["found"])
    faults, _, intended = sections.partition("\n## ")
    for fault in faults.split("\n### ")[1:]:
        heading, sees, code = fault.split("\n\n", 2)
        name, _, release = heading.partition(", ")
        (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{name}` | {release} "))
        assert f" | {sees} | " in row
        assert code.startswith("```python\nimport torch  # 2.")
    assert intended.count("\n### ") == intended.count("\n```python\nimport torch  # 2.") > 0
