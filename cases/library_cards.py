"""What the report card finds in released libraries, and lines that show it without the card.

    python -m cases.library_cards            one minute
    python -m cases.library_cards --store    also writes docs/report_cards.md and the lesson's data

It needs the packages of the group `real`, which `make cases` installs. The functions, the lines and
what a user sees stand in library_functions.toml.
"""

import contextlib
import io
import json
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch

from autograd_surprises.facts.toml_data import tomllib
from autograd_surprises.report_card import ReportCard, report_card

ROOT = Path(__file__).parent.parent
FUNCTIONS = Path(__file__).with_name("library_functions.toml")
PAGE = ROOT / "docs" / "report_cards.md"
STORED = ROOT / "lessons" / "measured" / "library_cards.json"
INTRODUCTION = """\
# Report cards of released libraries

`report_card` examined {count} functions with a custom backward from {packages} released libraries,
with torch {torch}, on {date}. `make cases` repeats this and writes this page. Below the tables,
lines that do not use the report card show each finding, and the page is written only if they
print what stands there.

A surrogate gradient is not a fault. Where a library documents one, a function with that gradient
was passed as `like=`, and the two gradients were compared. Most of these functions cannot be used
with `torch.func`, which refuses them with an error; such refusals are not listed here. Some faults
need inputs that are rare in training; the text names them.
"""


@dataclass(frozen=True)
class Entry:
    """A function of a library; library_functions.toml describes the other keys."""

    package: str  # as it is installed
    name: str  # as the page calls it; the package has no other of that name
    imports: str
    fn: str
    inputs: str = "x"
    like: str = ""
    intent: str = ""
    sees: str = ""
    shows: str = ""

    @property
    def key(self) -> str:
        return f"{self.package}/{self.name}"

    @property
    def is_picture(self) -> bool:
        return "a picture, and no gradient" in self.intent


ENTRIES = [
    Entry(*key.split("/"), **keys)
    for key, keys in tomllib.loads(FUNCTIONS.read_text(encoding="utf-8")).items()
]


@dataclass(frozen=True)
class Examined:
    """An entry, its card, and the names of the rows that are wrong."""

    entry: Entry
    card: ReportCard
    wrong: tuple[str, ...]

    @property
    def release(self) -> str:
        return f"{self.entry.package} {version(self.entry.package)}"

    def count(self, status: str) -> int:
        return sum(row.status == status for row in self.card.rows)


def examine(entry: Entry) -> Examined:
    """Make the card of an entry."""
    names = {"torch": torch, "x": torch.linspace(-2, 2, 9)}
    exec(entry.imports, names)
    torch.manual_seed(0)
    inputs = eval(f"({entry.inputs},)", names)
    like = eval(entry.like, names) if entry.like else None
    card = report_card(eval(entry.fn, names), *inputs, like=like)
    wrong = [row.name for row in card.rows if row.status == "silently wrong"]
    wrong += [row.name for row in card.rows[:1] if row.status == "refused"]
    return Examined(entry, card, tuple(wrong))


def printed_otherwise(code: str) -> str:
    """What the lines print, unless it is what their comments say."""
    said = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    text = io.StringIO()
    torch.manual_seed(0)
    with contextlib.redirect_stdout(text):
        try:
            exec(code, {"torch": torch})
        except Exception as error:
            print(type(error).__name__, error)
    printed = text.getvalue()
    return "" if _rounded(printed) == _rounded("\n".join(said)) else printed


def _rounded(text):
    """Without what may differ between machines: the last digits, and spaces."""
    return re.sub(r"\d+\.\d+(?:e-?\d+)?", lambda number: f"{float(number[0]):.3g}", text).split()


def problems(found: Sequence[Examined]) -> list[str]:
    """What the cards and the stored lines do not agree on."""
    differs = []
    for each in found:
        entry = each.entry
        if bool(each.wrong) != bool(entry.shows):
            how = "wrong, but nothing shows it" if each.wrong else "shown, but not found"
            differs.append(f"{entry.key}: {how}")
        if text := printed_otherwise(entry.shows):
            differs.append(f"{entry.key} printed {text}")
    return differs


def page_of(found: Sequence[Examined]) -> str:
    """The page as Markdown: what is wrong, what is meant, and what is healthy."""
    wrong = [each for each in found if each.wrong and not each.entry.is_picture]
    breaks_training = {"slope", "one gradient per input"}
    wrong.sort(key=lambda each: breaks_training.isdisjoint(each.wrong))
    picture = [each for each in found if each.wrong and each.entry.is_picture]
    fine = [each for each in found if not each.wrong]
    facts = {"count": len(found), "packages": len({each.entry.package for each in found})}
    texts = [
        INTRODUCTION.format(**facts, torch=torch.__version__.partition("+")[0], date=date.today()),
        f"## Silently wrong, or refused in training: {len(wrong)}\n",
        *_table("function", "version", "rows", "what a user sees"),
        *(_row(each, ", ".join(each.wrong), each.entry.sees) for each in wrong),
        f"\n## Intended: {len(picture)}\n",
        *_table("function", "version", "rows", "why"),
        *(_row(each, ", ".join(each.wrong), each.entry.intent) for each in picture),
        f"\n## Nothing wrong: {len(fine)}\n",
        *_table("function", "version", "works", "refused", "gradient"),
        *(
            _row(each, each.count("works"), each.count("refused"), each.entry.intent or "its slope")
            for each in fine
        ),
        "\n## The lines that show it",
    ]
    for each in (*wrong, *picture):
        texts.append(f"\n### {each.entry.name}, {each.release}\n")
        texts.append(f"```python\nimport torch\n{each.entry.shows}```")
    return "\n".join(texts) + "\n"


def _table(*head):
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]


def _row(each: Examined, *cells: object) -> str:
    return f"| {' | '.join([f'`{each.entry.name}`', each.release, *map(str, cells)])} |"


def data(found: Iterable[Examined]) -> dict:
    """What the lesson the_report_card shows."""
    return {
        "date": str(date.today()),
        "torch": torch.__version__,
        "cards": [
            {
                "package": each.entry.package,
                "version": version(each.entry.package),
                "name": each.entry.name,
                "meant": each.entry.intent,
                "works": each.count("works"),
                "refused": each.count("refused"),
                "found": each.wrong,
            }
            for each in found
        ],
    }


def main():
    """Print each finding; returns the number of problems."""
    import cases.library_imports  # noqa: F401  without it, torchvision cannot be imported

    warnings.simplefilter("ignore")
    found = [examine(entry) for entry in ENTRIES]
    for each in found:
        if each.wrong:
            print(f"{each.entry.key}: {', '.join(each.wrong)}")
    differs = problems(found)
    print(*differs, sep="\n")
    if "--store" in sys.argv and not differs:
        PAGE.write_text(page_of(found), encoding="utf-8")
        STORED.write_text(json.dumps(data(found), indent=2) + "\n", encoding="utf-8")
    return len(differs)


if __name__ == "__main__":
    sys.exit(main())
