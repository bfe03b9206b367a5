"""Check what the learner wrote as the answer to an exercise."""

import io
from contextlib import redirect_stdout
from dataclasses import dataclass

from autograd_surprises.recording.places import raised_at
from autograd_surprises.show.colours import GREEN, GREY, RED
from autograd_surprises.show.findings import badge, with_code
from lessons.asking.answers import came_through_answer, last_returned
from lessons.asking.registry import Draw, NotDone, Wrong, find_check
from lessons.asking.solved import remember

NOT_DONE = "Not done yet. Write your answer, and run this cell again."
COLOURS = {"✓": GREEN, "✗": RED, "…": GREY}

passed: set[str] = set()  # exercises that have passed once: a class's sheets give points for them


@dataclass(frozen=True)
class Verdict:
    """What `check` shows: a sign, the exercise and why in a line, and what `draw` draws."""

    sign: str
    exercise: str
    why: str
    draw: Draw | None = None

    def __repr__(self):
        return f"{self._mark()}: {self.why}".replace("\n", "\n    ")

    def _mark(self):
        return f"{self.sign} Exercise {self.exercise.rpartition('.')[2]}"

    def _repr_html_(self):
        mark = badge(self._mark(), COLOURS[self.sign])
        return f'<div role="status">{mark} {with_code(self.why).replace(chr(10), "<br>")}</div>'


def check(exercise: str, answer: object) -> None:
    """Show one line: ✓, or ✗ with the place, the learner's value and the expected one.

    A wrong curve is drawn against the expected one, and an error names the line that raised it.
    Run All continues after a wrong answer and after a broken one.

    >>> check("override_backward.1", ...)
    … Exercise 1: Not done yet. Write your answer, and run this cell again.
    """
    from IPython import get_ipython  # here, because it takes long to import
    from IPython.display import display

    verdict = judge(exercise, answer)
    if verdict.sign == "✓":
        passed.add(exercise)
        shell = get_ipython()
        if shell and not shell.user_ns["In"][-1].startswith("# Solution"):
            remember(exercise)
    display(verdict)  # prints it where there is no notebook
    picture = _drawn(verdict.draw, answer)
    if picture is not None:
        display(picture)


def judge(exercise: str, answer: object) -> Verdict:
    """What `check` shows about an answer.

    >>> judge("override_backward.1", ...).sign
    '…'
    """
    check = find_check(exercise)
    try:
        check.run(answer)
    except NotDone:
        return Verdict("…", exercise, NOT_DONE)
    except Wrong as wrong:
        return Verdict("✗", exercise, str(wrong), check.draw_wrong)
    except Exception as error:
        return Verdict("✗", exercise, _what_was_raised(error))
    return Verdict("✓", exercise, check.praise, check.draw_right)


def _drawn(draw, answer):
    if draw is None:
        return None
    try:
        with redirect_stdout(io.StringIO()):  # what it prints, it has printed for the check
            return draw(answer)
    except Exception:  # a wrong answer that cannot be drawn either: the verdict says what is wrong
        return None


def _what_was_raised(error):
    """The error, and the line of the learner's code that raised it; or what the code returned."""
    first = str(error).partition("\n")[0]
    place = raised_at(error.__traceback__)
    kind = type(error).__name__
    if place is None and not came_through_answer(error.__traceback__):
        return f"the check cannot use what your code returned, {last_returned()}: {kind}: {first}"
    where = f" in {place.short}, `{place.source}`" if place and place.source else ""
    return f"your code raised {kind}{where}: {first}"
