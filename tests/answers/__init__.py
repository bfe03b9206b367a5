"""Answers to the exercises: right ones, wrong ones, and those of the folded solutions.

RIGHT      number -> spelling -> the answer
WRONG      number -> wrong idea -> (the answer, facts in the message)
solutions  number -> what the solution cell hands to `check`

The facts stand in the message in this order; " … " separates them.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import nbformat

from tools.notebooks import notebook_files, sections, setup_cell

NOTEBOOKS = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
WRONG = {number: wrong for notebook in NOTEBOOKS for number, wrong in notebook.WRONG.items()}
RIGHT = {
    number: right
    for notebook in NOTEBOOKS
    for number, right in getattr(notebook, "RIGHT", {}).items()
}


@cache
def solutions():
    found = {}
    for path in notebook_files():
        notebook = nbformat.read(path, as_version=4)
        for _, cells in sections(notebook):
            if any(cell.id.endswith("-solution") for cell in cells):
                _collect(setup_cell(notebook), cells, found)
    return found


def _collect(setup, cells, found):
    names = {}
    exec(setup.source, names)
    names["check"] = found.__setitem__
    for cell in cells:
        if cell.cell_type == "code" and "exercise-" in cell.id:
            exec(cell.source, names)
