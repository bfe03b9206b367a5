"""The functions of other libraries: their text is code, and the stored findings are about them."""

import json
from pathlib import Path

from cases.library_cards import ENTRIES

ROOT = Path(__file__).parent.parent
STORED = json.loads((ROOT / "lessons/measured/library_cards.json").read_text("utf-8"))
PAGE = (ROOT / "docs/report_cards.md").read_text("utf-8")


def test_all_of_them_were_asked_and_are_on_the_page():
    asked = [(card["package"], card["name"]) for card in STORED["cards"]]
    assert asked == [(entry.package, entry.name) for entry in ENTRIES]
    for card in STORED["cards"]:
        row = f"| `{card['name']}` | {card['package']} {card['version']} | "
        assert row + ", ".join(card["found"]) in PAGE


def test_every_finding_has_lines_that_show_it_and_a_fault_says_what_a_user_sees():
    found = {f"{card['package']}/{card['name']}" for card in STORED["cards"] if card["found"]}
    assert found == {entry.key for entry in ENTRIES if entry.shows}
    pictures = {entry.key for entry in ENTRIES if entry.is_picture}
    assert {entry.key for entry in ENTRIES if entry.sees} == found - pictures
    for entry in ENTRIES:
        compile(entry.shows, entry.key, "exec")
        assert entry.shows in PAGE and entry.sees in PAGE, entry.key
        assert not entry.shows or "\n# " in entry.shows, f"{entry.key}: what do the lines print?"
