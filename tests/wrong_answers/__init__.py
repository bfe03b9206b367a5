"""Wrong answers to the exercises: number -> wrong idea -> (the answer, a part of the message)."""

from wrong_answers import (
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
WRONG = {number: wrong for notebook in NOTEBOOKS for number, wrong in notebook.WRONG.items()}
