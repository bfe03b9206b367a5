"""The exercises of all notebooks, by number. The solutions are in the notebooks, folded."""

from helpers.exercises import notebook_01, notebook_03, notebook_04

EXERCISES = {
    exercise.number: exercise
    for exercise in (*notebook_01.EXERCISES, *notebook_03.EXERCISES, *notebook_04.EXERCISES)
}
