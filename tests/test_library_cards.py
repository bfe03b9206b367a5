"""The functions of other libraries: their text is code, and the stored findings are about them."""

import json
from pathlib import Path

from autograd_surprises.facts.toml_data import tomllib
from cases.library_functions import ENTRIES

ROOT = Path(__file__).parent.parent
STORED = json.loads((ROOT / "lessons/measured/library_cards.json").read_text("utf-8"))
SHOWN = tomllib.loads((ROOT / "cases/library_cards.toml").read_text("utf-8"))
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
    found = {f"{card['package']}/{card['name']}" for card in STORED["cards"] if card["found"]}
    assert found == SHOWN.keys()
    pictures = {f"{entry.package}/{entry.name}" for entry in ENTRIES if entry.is_picture}
    assert {key for key, shown in SHOWN.items() if "sees" in shown} == found - pictures
    for key, shown in SHOWN.items():
        compile(shown["shows"], key, "exec")
        assert shown["shows"] in PAGE and shown.get("sees", "") in PAGE, key
        assert "\n# " in shown["shows"], f"{key}: what do the lines print?"
