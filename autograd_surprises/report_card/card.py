"""The report card: a row for each question, shown as text and as HTML."""

import html
from collections import Counter
from dataclasses import dataclass

from autograd_surprises.show.colours import GREEN, GREY, OCHRE, RED
from autograd_surprises.show.findings import Sentence, badge, finding_html, findings_text, grouped

WRONG, REFUSED, WORKS = "silently wrong", "refused", "works"
NOT_APPLICABLE, SKIPPED = "not applicable", "skipped"
SHOWN = {WRONG: "SILENTLY WRONG", REFUSED: "REFUSED", WORKS: WORKS, NOT_APPLICABLE: NOT_APPLICABLE}
COLOURS = {WRONG: RED, REFUSED: OCHRE, WORKS: GREEN, NOT_APPLICABLE: GREY}


@dataclass(frozen=True)
class CardRow:
    """The answer to one question.

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

    def sentences(self) -> list[Sentence]:
        """What happened, and what to change."""
        numbers = f"yours {self.yours}, expected {self.expected}" if self.yours else ""
        message = ": ".join(part for part in (self.message, numbers) if part)
        return [pair for pair in (("", message), ("what to change", self.remedy)) if pair[1]]


@dataclass(frozen=True)
class ReportCard:
    """What one function supports. Shows itself: HTML in a notebook, text elsewhere.

    >>> card = ReportCard("f", (CardRow("slope", "works"), CardRow("vmap", "refused")))
    >>> print(card.passed, card["slope"].status, card.summary)
    False works report card of f: 1 of 2 works, 1 refused
    """

    name: str
    rows: tuple[CardRow, ...]

    @property
    def passed(self) -> bool:
        """Is nothing refused, and nothing silently wrong?"""
        return all(row.fine for row in self.rows)

    @property
    def summary(self) -> str:
        count = Counter(row.status for row in self.rows)
        asked = count[WORKS] + count[REFUSED] + count[WRONG]
        works = f"{count[WORKS]} of {asked} {'works' if count[WORKS] == 1 else 'work'}"
        others = [f"{count[s]} {s}" for s in (REFUSED, WRONG, NOT_APPLICABLE) if count[s]]
        text = f"report card of {self.name}: {', '.join([works, *others])}"
        skipped = [row.remedy for row in self.rows if row.status == SKIPPED]
        return f"{text}; {len(skipped)} skipped: {skipped[0]}" if skipped else text

    def __getitem__(self, name: str) -> CardRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no row {name!r}, only {[row.name for row in self.rows]}")

    def grouped(self) -> list[tuple[str, str, list[Sentence]]]:
        """(status, names, sentences) of what was asked, the worst first; the same message once."""
        asked = [row for row in self.rows if row.status != SKIPPED]
        asked.sort(key=lambda row: list(SHOWN).index(row.status))
        return [
            (rows[0].status, ", ".join(row.name for row in rows), rows[0].sentences())
            for rows in grouped(asked, lambda row: (row.status, *row.sentences()))
        ]

    def __str__(self):
        texts = [findings_text(self.summary, indent=0)]
        for status, names, sentences in self.grouped():
            # the message follows the names, the remedy stands below
            below = [pair for pair in sentences if pair[0]]
            message = [text for label, text in sentences if not label]
            head = f"{SHOWN[status]:<14}  {': '.join([names, *message])}"
            texts.append(findings_text(head, below, indent=16))
        return "\n".join(texts)

    __repr__ = __str__

    def _repr_html_(self):
        parts = [f"<p>{html.escape(self.summary)}</p>"]
        for status, names, sentences in self.grouped():
            mark = badge(SHOWN[status], COLOURS[status])
            parts.append(finding_html(mark, html.escape(names), sentences))
        return "\n".join(parts)
