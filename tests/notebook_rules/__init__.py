"""The rules that every notebook obeys. A rule takes a notebook and returns its complaints.

form.py     how a notebook is stored, and what its outputs may not contain
content.py  what a learner finds in it
"""

from dataclasses import dataclass
from pathlib import Path

import nbformat

from tools.notebooks import lesson_of, sections
from tools.reading import task_of

RULES = []


def rule(function):
    RULES.append(function)
    return function


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
