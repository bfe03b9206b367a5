"""The exercises of all notebooks, by number. The solutions are in the notebooks, folded."""

from importlib import import_module
from pkgutil import iter_modules

NOTEBOOKS = [
    import_module(f"{__name__}.{module.name}")
    for module in iter_modules(__path__)
    if module.name.startswith("notebook_")
]
EXERCISES = {exercise.number: exercise for notebook in NOTEBOOKS for exercise in notebook.EXERCISES}
