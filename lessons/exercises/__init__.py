"""The checks of the exercises of all notebooks, by number. The solutions are in the notebooks.

registry    the check of each exercise by its number, and what a check raises
answers     call a learner's answer, and compare what it returns with what is right
arguments   what a check hands to an answer: random tensors, leaves with an old gradient
pointwise   a function of each number alone: its value, its gradient and its memory
bug_hunt    a repaired function against the right one, by finite differences
notebook_…  the checks of a notebook
"""

from importlib import import_module
from pkgutil import iter_modules

from lessons.exercises.registry import CHECKS

for module in iter_modules(__path__):
    if module.name.startswith("notebook_"):
        import_module(f"{__name__}.{module.name}")

__all__ = ["CHECKS"]
