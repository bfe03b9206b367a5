"""Show an exercise, and check what the learner wrote."""

from __future__ import annotations

from helpers.lessons.exercises import EXERCISES
from helpers.lessons.exercises.exercise import Exercise, NotDone, Wrong


def exercise(number: str) -> Exercise:
    """The card of an exercise: what to do, how long it takes, and hints to unfold.

    >>> exercise("04.1").title
    'A clamp that leaks'
    """
    if number not in EXERCISES:
        raise ValueError(f"there is no exercise {number!r}, only {', '.join(EXERCISES)}")
    return EXERCISES[number]


def check(number: str, answer: object) -> None:
    """Print one line: ✓, or ✗ with the place, the learner's value and the expected one.

    Never raises, so that Run All continues after a wrong answer or a broken one.

    >>> check("04.1", ...)
    … 04.1 is not done yet: write your answer and run this cell again.
    """
    card = exercise(number)
    try:
        card.check(answer)
    except NotDone:
        print(f"… {number} is not done yet: write your answer and run this cell again.")
    except Wrong as wrong:
        print(f"✗ {number} {wrong}")
    except Exception as error:
        line = str(error).partition("\n")[0]
        print(f"✗ {number} your code raised {type(error).__name__}: {line}")
    else:
        print(f"✓ {number} {card.praise}")
