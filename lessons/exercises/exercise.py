"""An exercise: its card, and what its check raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autograd_surprises.show.picture import Picture


class NotDone(Exception):
    """The answer has not been written yet."""


class Wrong(Exception):
    """The answer is wrong; the message has the place, the learner's value and the expected one."""


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    number     notebook and position, such as "04.1"
    title      a few words
    minutes    how long it takes somebody who has read the notebook
    statement  the task, in Markdown
    hints      from gentle to nearly the solution, in Markdown
    check      takes the learner's answer; raises Wrong or NotDone
    praise     what a right answer shows
    draw_wrong, draw_right  draw an answer with this verdict; None where there is nothing to see
    """

    number: str
    title: str
    minutes: int
    statement: str
    hints: tuple[str, ...]
    check: Callable[[object], None]
    praise: str
    draw_wrong: Callable[[object], Picture | None] | None = None
    draw_right: Callable[[object], Picture | None] | None = None

    def _repr_markdown_(self):
        hints = "\n\n".join(
            f"<details><summary>Hint {i}</summary>\n\n{hint}\n\n</details>"
            for i, hint in enumerate(self.hints, 1)
        )
        heading = f"**Exercise {self.number} · {self.title}** · about {self.minutes} minutes"
        return f"{heading}\n\n{self.statement}\n\n{hints}"

    def __repr__(self):
        return f"Exercise {self.number}: {self.title}"
