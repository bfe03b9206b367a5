"""Wrong answers to the exercises: number -> wrong idea -> (the answer, facts in the message).

The facts stand in the message in this order; " … " separates them.
"""

from importlib import import_module
from pkgutil import iter_modules

NOTEBOOKS = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
WRONG = {number: wrong for notebook in NOTEBOOKS for number, wrong in notebook.WRONG.items()}
