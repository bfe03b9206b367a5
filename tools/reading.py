"""What the cells of a notebook say and do, read without running them."""

import ast
import functools
import re
from typing import NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

from lessons.asking.prediction import STORED
from tools.notebooks import CODE_BLOCK, INSTALL, SETUP

TASK = re.compile(r"\*\*Exercise (\d+) · .+\*\* · ●[●○]{2} · about (\d+) minutes\n")
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
EXPLORERS = "explore", "explore_backward"
WIDGETS = (*EXPLORERS, "AtlasBrowser")


class Task(NamedTuple):
    """What the Markdown cell of an exercise says of it. Its check is in its lesson's folder."""

    number: int
    minutes: int
    hints: int


def task_of(cell) -> Task | None:
    """The exercise whose task and hints this cell shows, or None."""
    found = TASK.match(cell.source) if cell.cell_type == "markdown" else None
    if found:
        hints = cell.source.count("<details><summary>Hint ")
        return Task(*map(int, found.groups()), hints)
    return None


def text_of(output) -> str:
    """What a reader can read in an output; pictures and the tags of HTML are left out."""
    texts = [output.get("text", ""), *output.get("traceback", [])]
    for mime, data in output.get("data", {}).items():
        if "image/" not in mime:
            texts.append(re.sub("<[^>]*>", "", data) if mime == "text/html" else str(data))
    return "\n".join(texts)


def texts_of(cell) -> str:
    """What a reader can read in the outputs of a cell."""
    return "\n".join(map(text_of, cell.outputs)).strip()


def asked_by(cell) -> list[dict]:
    """The questions that its outputs store."""
    return [asked for out in cell.outputs for asked in out.get("data", {}).get(STORED, [])]


def prose(markdown: str) -> str:
    """Markdown without its code, and without marks of what only a kernel can do."""
    return re.sub(r"(`+).+?\1|</?span.*?>", "", CODE_BLOCK.sub("", markdown))


def tree(cell):
    return parsed(cell.source)


@functools.cache
def parsed(source):
    return ast.parse(TransformerManager().transform_cell(source))


def is_call(node, name: str) -> bool:
    function = getattr(node, "func", None)
    return name in (getattr(function, "id", None), getattr(function, "attr", None))


@functools.cache
def calls_in(source) -> list[ast.Call]:
    return [node for node in ast.walk(parsed(source)) if isinstance(node, ast.Call)]


def calls(cell, *names: str) -> list:
    """The first argument of each `name(...)` and `x.name(...)` in the cell, None if not literal."""
    found = [call for call in calls_in(cell.source) if any(is_call(call, name) for name in names)]
    return [getattr(call.args[0], "value", None) if call.args else None for call in found]


def minutes_of(cell) -> float:
    """About so many take reading, running and sliding it. What belongs to exercises does not count.

    First readers of three notebooks needed 32, 39 and 50 minutes, where this says 32, 38 and 49.
    """
    if cell.cell_type == "markdown":
        read = prose(FOLDED.sub("", cell.source))
        return 0 if task_of(cell) else len(re.findall(r"\w+", read)) / 180
    if cell.id in (INSTALL, SETUP) or calls(cell, "check"):
        return 0
    if calls(cell, "predict"):
        return 1
    texts = [text_of(each) for each in cell.outputs if "image/png" not in each.get("data", {})]
    shown = sum(min(120, len(re.findall(r"\w+", text))) for text in texts) / 250
    lines = len([line for line in cell.source.splitlines() if line]) / 11
    return lines + shown + 1.5 * bool(calls(cell, *WIDGETS))
