"""Answers to the exercises: right ones, wrong ones, and those of the folded solutions.

CHECKS     exercise -> its check
RIGHT      exercise -> spelling -> the answer
WRONG      exercise -> wrong idea -> (the answer, facts in the message)
NUMBERS    exercises that ask for numbers, and not for a function or a class
solutions  exercise -> what the solution cell hands to `check`

Those of a lesson are in tests/lessons/. The facts stand in the message; " … " separates them.
"""

from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import nbformat
from torch.autograd import Function

import lessons
from lessons.asking.registry import registered
from tools.notebooks import notebook_files, sections, setup_cell


def function(forward, backward, save=None, **members):
    """A Function of x; `save(x)` makes the tensor for backward, and without it that is x."""

    class Made(Function):
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(save(*inputs) if save else inputs[0])

    Made.forward = staticmethod(forward)
    Made.backward = staticmethod(lambda ctx, g: backward(g, *ctx.saved_tensors))
    for name, member in members.items():
        setattr(Made, name, member)
    return Made.apply


for file in sorted(Path(lessons.__file__).parent.glob("*/exercises.py")):
    import_module(f"lessons.{file.parent.name}.exercises")
CHECKS = registered
RIGHT, WRONG = {}, {}
for file in sorted(Path(__file__).parent.glob("lessons/*.py")):
    spec = spec_from_file_location(f"answers_{file.stem}", file)
    spec.loader.exec_module(lesson := module_from_spec(spec))
    RIGHT |= getattr(lesson, "RIGHT", {})
    WRONG |= lesson.WRONG
NUMBERS = {
    exercise
    for exercise, wrong in WRONG.items()
    if not any(callable(answer) for answer, _ in wrong.values())
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
