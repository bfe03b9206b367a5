"""Findings as text and as a table: what was found, of what, and sentences about it.

A sentence is (label, text), with the label "" for none.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from autograd_surprises.show.badge import Badge

WIDTH = 98
LEFT = 'style="text-align:left"'
NARROW = 'style="overflow-wrap:anywhere"'  # so that a long name fits on a narrow page
Sentence = tuple[str, str]


def by_story(findings: Iterable, story: Callable[..., Hashable]) -> list[list]:
    """Findings of the same story in one list, in the order of the first of each.

    >>> by_story([1, -2, -1, 3], abs)
    [[1, -1], [-2], [3]]
    """
    groups: dict[Hashable, list] = {}
    for finding in findings:
        groups.setdefault(story(finding), []).append(finding)
    return list(groups.values())


def listed(names: Sequence[str], most: int) -> str:
    """The names, or if they are many, the first ones and how many more.

    >>> listed("abc", most=2), listed("abcd", most=2)
    ('a, b, c', 'a, b and 2 more')
    """
    if len(names) <= most + 1:  # "and 1 more" is no shorter than a name
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def findings_text(head: str, sentences: Iterable[Sentence] = (), indent: int = 4) -> str:
    """A head and indented sentences below it, wrapped to the width of a page.

    >>> print(findings_text("ZERO  x", [("cause", "round is a staircase")]))
    ZERO  x
        cause: round is a staircase
    """
    below = [" " * indent + (f"{label}: {text}" if label else text) for label, text in sentences]
    return "\n".join(
        textwrap.fill(
            line,
            WIDTH,
            subsequent_indent=" " * (indent + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in [head, *below]
    )


def findings_table(
    columns: Mapping[str, str], rows: Iterable[Sequence[str | Badge | Iterable[Sentence]]]
) -> str:
    """An HTML table of these columns, {heading: tag of its cells}.

    A cell is text, a badge or sentences.

    >>> print(findings_table({"x": "b"}, [["a < b"]]).splitlines()[2])
    <tr><td style="text-align:left"><b style="overflow-wrap:anywhere">a &lt; b</b></td></tr>
    """
    lines = ["".join(f"<th {LEFT}>{heading}</th>" for heading in columns)]
    lines += [
        "".join(
            f"<td {LEFT}>{_cell(*pair)}</td>" for pair in zip(columns.values(), row, strict=True)
        )
        for row in rows
    ]
    return "<table>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"


def _cell(tag, content):
    if isinstance(content, Badge):
        return content.html
    if isinstance(content, str):
        text = html.escape(content)
        return f"<{tag} {NARROW}>{text}</{tag}>" if tag else text
    return sentences_html(content)


def sentences_html(sentences: Iterable[Sentence]) -> str:
    """A line for each sentence. They break anywhere.

    >>> print(sentences_html([("fix", "x > 0")]))
    <span style="overflow-wrap:anywhere"><b>fix</b>: x &gt; 0</span>
    """
    lines = "<br>".join(
        f"<b>{html.escape(label)}</b>: {html.escape(text)}" if label else html.escape(text)
        for label, text in sentences
    )
    return f"<span {NARROW}>{lines}</span>"
