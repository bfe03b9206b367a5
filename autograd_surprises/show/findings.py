"""Findings as text and as HTML: a head that says what was found, and sentences about it.

A sentence is (label, text), with the label "" for none.
"""

import html
import re
import textwrap
from collections.abc import Callable, Hashable, Iterable, Sequence

WIDTH = 98
Sentence = tuple[str, str]


def grouped(findings: Iterable, key: Callable[..., Hashable]) -> list[list]:
    """Findings with the same key in one list, in the order of the first of each.

    >>> grouped([1, -2, -1, 3], abs)
    [[1, -1], [-2], [3]]
    """
    groups: dict[Hashable, list] = {}
    for finding in findings:
        groups.setdefault(key(finding), []).append(finding)
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


def with_code(text: str) -> str:
    """Text as HTML; text in backticks becomes code.

    >>> with_code("`a < b` holds")
    '<code>a &lt; b</code> holds'
    """
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))


def with_breaks(name: str) -> str:
    """A name as HTML, in which a line may break after a dot or an underscore."""
    return re.sub(r"(?<=[._])(?=\w)", "<wbr>", html.escape(name, quote=False))


def badge(text: str, colour: str) -> str:
    """A word or a sign on a colour, as HTML. The text says it all; the colour is found sooner.

    It has its own background and its own ink, so it reads alike on light and on dark pages.
    JupyterLab keeps such plain colours in a notebook that it does not trust, and drops its own
    theme's variables; GitHub drops all styles, and the bold word remains.

    >>> badge("ZERO", "#cc3d1f").endswith(">ZERO</b>")
    True
    """
    box = "color:#fff;display:inline-block;padding:0 6px;border-radius:4px;white-space:nowrap"
    return f'<b style="background:{colour};{box}">{html.escape(text)}</b>'


def finding_html(badge: str, head: str, sentences: Iterable[Sentence]) -> str:
    """A badge and a head, which is HTML, and below them a line for each sentence.

    A table would squeeze the sentences into a thin column on a narrow page.

    >>> finding_html(badge("ZERO", "#cc3d1f"), "x", [("fix", "x > 0")]).partition("</b>")[2]
    ' x<br><b>fix</b>: x &gt; 0</p>'
    """
    lines = [f"<b>{label}</b>: {with_code(text)}" if label else with_code(text)
             for label, text in sentences]  # fmt: skip
    return f'<p style="overflow-wrap:anywhere">{"<br>".join([f"{badge} {head}", *lines])}</p>'


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its kind."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
