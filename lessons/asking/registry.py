"""The check of each exercise by its id, and what a check raises."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from autograd_surprises.show.picture import Picture

Draw = Callable[[object], Picture | None]


class NotDone(Exception):
    """The answer has not been written yet."""


class Wrong(Exception):
    """The answer is wrong; the message has the place, the learner's value and the expected one.

    If `why` says what happened, it comes first, and the message on a line below.
    """

    def __init__(self, message: str, why: str = ""):
        super().__init__(f"{why}\n{message}" if why else message)


@dataclass(frozen=True)
class Check:
    """The check of one exercise. Its task and its hints are a Markdown cell of its notebook.

    run     takes the learner's answer; raises Wrong or NotDone
    praise  what a right answer shows
    draw_wrong, draw_right  draw an answer with this verdict; None where there is nothing to see
    """

    run: Callable[[object], None]
    praise: str
    draw_wrong: Draw | None = None
    draw_right: Draw | None = None


registered: dict[str, Check] = {}  # of the lessons that have been imported


def find_check(exercise: str) -> Check:
    """The check of an exercise, from the `exercises.py` of its lesson; ValueError without one.

    >>> find_check("override_backward.2").praise
    'One gradient for each input, in order.'
    """
    lesson = exercise.rpartition(".")[0]
    if (Path(__file__).parents[1] / lesson / "exercises.py").exists():
        import_module(f"lessons.{lesson}.exercises")
    if exercise not in registered:
        raise ValueError(f"there is no exercise {exercise!r}; one is called 'override_backward.1'")
    return registered[exercise]


def check_of(
    exercise: str,
    praise: str,
    *,
    inputs: Iterable[tuple] = ((),),
    draw_wrong: Draw | None = None,
    draw_right: Draw | None = None,
):
    """Make a function the check of an exercise: it is called with the answer and each of `inputs`.

    exercise  its id: lesson and position, such as "override_backward.1"
    """

    def register(function):
        def run(answer):
            for each in inputs:
                function(answer, *each)

        registered[exercise] = Check(run, praise, draw_wrong, draw_right)
        return function

    return register
