"""The exercises of all notebooks, by number. The solutions are in the notebooks, folded."""

from helpers.lessons.exercises import (
    notebook_01,
    notebook_02,
    notebook_03,
    notebook_04,
    notebook_05,
    notebook_06,
    notebook_07,
    notebook_08,
    notebook_09,
    notebook_10,
)

NOTEBOOKS = (
    notebook_01,
    notebook_02,
    notebook_03,
    notebook_04,
    notebook_05,
    notebook_06,
    notebook_07,
    notebook_08,
    notebook_09,
    notebook_10,
)
EXERCISES = {exercise.number: exercise for notebook in NOTEBOOKS for exercise in notebook.EXERCISES}
