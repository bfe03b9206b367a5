"""The rules that every notebook obeys. A rule takes a notebook and returns its complaints.

form.py     how a notebook is stored, and what its outputs may not contain
content.py  what a learner finds in it
"""

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from tools.notebooks import lesson_of, sections

TASK = re.compile(r"\*\*Exercise (\d+) · (.+)\*\* · about (\d+) minutes\n")
RULES = []


def rule(function):
    RULES.append(function)
    return function


@dataclass(frozen=True)
class Task:
    """What the Markdown cell of an exercise says of it. Its check is in its lesson's folder."""

    number: int
    title: str
    minutes: int
    hints: int


def task_of(cell):
    """The exercise whose task and hints this cell shows, or None."""
    found = TASK.match(cell.source) if cell.cell_type == "markdown" else None
    if found:
        number, title, minutes = found.groups()
        return Task(int(number), title, int(minutes), cell.source.count("<details><summary>Hint "))
    return None


@dataclass
class Notebook:
    name: str
    node: nbformat.NotebookNode
    text: str

    @classmethod
    def load(cls, path):
        text = path.read_text(encoding="utf-8")
        return cls(path.name, nbformat.reads(text, as_version=4), text)

    @property
    def number(self):
        return self.name[:2]

    @property
    def lesson(self):
        return lesson_of(Path(self.name))

    @property
    def cells(self):
        return self.node.cells

    @property
    def code(self):
        return [cell for cell in self.cells if cell.cell_type == "code"]

    @property
    def markdown(self):
        return [cell for cell in self.cells if cell.cell_type == "markdown"]

    @property
    def outputs(self):
        return [(cell, output) for cell in self.code for output in cell.outputs]

    @property
    def tasks(self):
        return [task for cell in self.cells if (task := task_of(cell))]

    @property
    def sections(self):
        return sections(self.node)


def text_of(output):
    """What a reader can read in an output; pictures and the tags of HTML are left out."""
    texts = [output.get("text", ""), *output.get("traceback", [])]
    for mime, data in output.get("data", {}).items():
        if "image/" not in mime:
            texts.append(re.sub("<[^>]*>", "", data) if mime == "text/html" else str(data))
    return "\n".join(texts)


def tree(cell):
    return parsed(cell.source)


@functools.cache
def parsed(source):
    return ast.parse(TransformerManager().transform_cell(source))


def is_call(node, name):
    function = getattr(node, "func", None)
    return name in (getattr(function, "id", None), getattr(function, "attr", None))


def calls(cell, name):
    """The first argument of each `name(...)` and `x.name(...)` in the cell, None if not literal."""
    found = [node for node in ast.walk(tree(cell)) if is_call(node, name)]
    return [getattr(call.args[0], "value", None) if call.args else None for call in found]
