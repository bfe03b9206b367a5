"""The exercises of all notebooks, by number. The solutions are in the notebooks, folded.

exercise     an exercise: its card, and what its check raises
answers      call a learner's answer, and compare what it returns with what is right
old_grad     a leaf whose .grad holds an old gradient, which has to stay
seeded       random tensors that are the same in each check
pointwise    a function of each number alone: its value, its gradient and its memory
bug_hunt     a repaired function against the right one, by finite differences
notebook_01, notebook_02, notebook_03, notebook_04  the exercises of these notebooks
notebook_05, notebook_06, notebook_07, notebook_08  the exercises of these notebooks
notebook_09, notebook_10                            the exercises of these notebooks
notebook_11, notebook_11_modes, notebook_12         the exercises of these notebooks
"""

from importlib import import_module
from pkgutil import iter_modules

NOTEBOOKS = [
    import_module(f"{__name__}.{module.name}")
    for module in iter_modules(__path__)
    if module.name.startswith("notebook_")
]
EXERCISES = {exercise.number: exercise for notebook in NOTEBOOKS for exercise in notebook.EXERCISES}
