"""Show an exercise, and check what the learner wrote."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_surprises.show.badge import GREEN, GREY, RED, Badge
from autograd_surprises.show.findings import with_code
from helpers.lessons.exercises import EXERCISES
from helpers.lessons.exercises.exercise import Exercise, NotDone, Wrong

NOT_DONE = "is not done yet: write your answer and run this cell again."
COLOURS = {"✓": GREEN, "✗": RED, "…": GREY}


@dataclass(frozen=True)
class Verdict:
    """What `check` says in one line: a sign, the number of the exercise, and why."""

    sign: str
    number: str
    why: str

    def __repr__(self):
        return f"{self.sign} {self.number} {self.why}"

    def _repr_html_(self):
        badge = Badge(f"{self.sign} {self.number}", COLOURS[self.sign])
        return f'<div role="status">{badge.html} {with_code(self.why)}</div>'


def exercise(number: str) -> Exercise:
    """The card of an exercise: what to do, how long it takes, and hints to unfold.

    >>> exercise("04.1").title
    'A clamp that leaks'
    """
    if number not in EXERCISES:
        raise ValueError(f"there is no exercise {number!r}, only {', '.join(EXERCISES)}")
    return EXERCISES[number]


def check(number: str, answer: object) -> None:
    """Show one line: ✓, or ✗ with the place, the learner's value and the expected one.

    Never raises, so that Run All continues after a wrong answer or a broken one.

    >>> check("04.1", ...)
    … 04.1 is not done yet: write your answer and run this cell again.
    """
    from IPython.display import display  # here, because it takes long to import

    display(judge(number, answer))  # prints it where there is no notebook


def judge(number: str, answer: object) -> Verdict:
    """What `check` shows about an answer.

    >>> judge("04.1", ...).sign
    '…'
    """
    card = exercise(number)
    try:
        card.check(answer)
    except NotDone:
        return Verdict("…", number, NOT_DONE)
    except Wrong as wrong:
        return Verdict("✗", number, str(wrong))
    except Exception as error:
        line = str(error).partition("\n")[0]
        return Verdict("✗", number, f"your code raised {type(error).__name__}: {line}")
    return Verdict("✓", number, card.praise)
