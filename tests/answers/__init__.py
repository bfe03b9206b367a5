"""Answers to the exercises: right ones, wrong ones, and those of the folded solutions.

RIGHT      number -> spelling -> the answer
WRONG      number -> wrong idea -> (the answer, facts in the message)
solutions  number -> what the solution cell hands to `check`

The facts stand in the message in this order; " … " separates them.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tools.classroom.solutions import solutions_of
from tools.notebooks import notebook_files

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
        found |= solutions_of(path.stem)
    return found
