"""What a report card says: rows, and the text and the table that show them."""

from __future__ import annotations

import html
import textwrap
from collections import Counter
from dataclasses import dataclass

WRONG, REFUSED, WORKS = "silently wrong", "refused", "works"
NOT_APPLICABLE, SKIPPED = "not applicable", "skipped"
SHOWN = (WRONG, REFUSED, WORKS, NOT_APPLICABLE)


@dataclass(frozen=True)
class Row:
    """What came of one question.

    name             of the question
    status           works, refused, silently wrong, not applicable or skipped
    message          torch's first line if it refused, where it is wrong, why it does not apply
    yours, expected  numbers, if silently wrong
    remedy           what to change
    """

    name: str
    status: str
    message: str = ""
    yours: str = ""
    expected: str = ""
    remedy: str = ""

    @property
    def fine(self) -> bool:
        return self.status not in (REFUSED, WRONG)

    def lines(self) -> list[str]:
        """The story in sentences, the remedy last."""
        numbers = f"yours {self.yours}, expected {self.expected}" if self.yours else ""
        story = ": ".join(part for part in (self.message, numbers) if part)
        remedy = f"what to change: {self.remedy}" if self.remedy else ""
        return [line for line in (story, remedy) if line]


@dataclass(frozen=True)
class ReportCard:
    """What one function supports. Shows itself: a table in a notebook, text elsewhere.

    >>> card = ReportCard("f", (Row("slope", "works"), Row("vmap", "refused")))
    >>> print(card.passed, card["slope"].status, card.summary)
    False works report card of f: 1 of 2 works, 1 refused
    """

    name: str
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Is nothing refused and nothing silently wrong?"""
        return all(row.fine for row in self.rows)

    @property
    def summary(self) -> str:
        count = Counter(row.status for row in self.rows)
        asked = count[WORKS] + count[REFUSED] + count[WRONG]
        works = f"{count[WORKS]} of {asked} {'works' if count[WORKS] == 1 else 'work'}"
        others = [f"{count[s]} {s}" for s in (REFUSED, WRONG, NOT_APPLICABLE) if count[s]]
        skipped = [row.remedy.removeprefix("pass ") for row in self.rows if row.status == SKIPPED]
        keywords = " and ".join(dict.fromkeys(skipped))
        said = f"report card of {self.name}: {', '.join([works, *others])}"
        return f"{said}; {len(skipped)} skipped: pass {keywords}" if skipped else said

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no row {name!r}, only {[row.name for row in self.rows]}")

    def told_once(self) -> list[tuple[str, list[str], list[str]]]:
        """(status, names, lines) of what was asked, the worst first; the same story once."""
        groups = {}
        for status in SHOWN:
            for row in self.rows:
                if row.status == status:
                    groups.setdefault((status, *row.lines()), []).append(row.name)
        return [
            (status if status not in (WRONG, REFUSED) else status.upper(), names, lines)
            for (status, *lines), names in groups.items()
        ]

    def __str__(self):
        lines = []
        for status, names, story in self.told_once():
            head = ": ".join([f"{status:<14}  {', '.join(names)}", *story[:1]])
            lines += [head, *(f"{'':14}  {line}" for line in story[1:])]
        whole = {"break_long_words": False, "break_on_hyphens": False}
        rows = [textwrap.fill(line, 98, subsequent_indent=" " * 18, **whole) for line in lines]
        return "\n".join([textwrap.fill(self.summary, 98, subsequent_indent="  "), *rows])

    __repr__ = __str__

    def _repr_html_(self):
        rows = [_line("th", ("answer", "asked", "why, and what to change"))]
        for status, names, story in self.told_once():
            cells = (f"<b>{status}</b>", html.escape(", ".join(names)),
                     "<br>".join(map(html.escape, story)))  # fmt: skip
            rows.append(_line("td", cells))
        return f"<p>{html.escape(self.summary)}</p>\n<table>\n" + "\n".join(rows) + "\n</table>"


def _line(tag, cells):
    """Words carry the meaning, not colours, so that it reads well in every theme."""
    left = 'style="text-align:left"'
    return "<tr>" + "".join(f"<{tag} {left}>{cell}</{tag}>" for cell in cells) + "</tr>"
