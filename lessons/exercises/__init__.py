"""The checks of the exercises of all notebooks, by number. The solutions are in the notebooks."""

from importlib import import_module
from pkgutil import iter_modules

from lessons.exercises.registry import CHECKS

for module in iter_modules(__path__):
    if module.name.startswith("notebook_"):
        import_module(f"{__name__}.{module.name}")

__all__ = ["CHECKS"]
