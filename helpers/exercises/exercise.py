"""The form of an exercise, and what its check says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch


class NotDone(Exception):
    """The stub is as it was."""


class Wrong(Exception):
    """The answer is wrong; the message says where, yours and the expected value."""


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    number     notebook and position, such as "04.1"
    title      a few words
    minutes    how long it takes somebody who has read the notebook
    statement  the task, in Markdown
    hints      from gentle to nearly the solution, in Markdown
    check      takes the learner's answer; raises Wrong or NotDone
    praise     said when it is right: what has been shown
    """

    number: str
    title: str
    minutes: int
    statement: str
    hints: tuple[str, ...]
    check: Callable[[object], None]
    praise: str

    def _repr_markdown_(self):
        hints = "\n\n".join(
            f"<details><summary>Hint {i}</summary>\n\n{hint}\n\n</details>"
            for i, hint in enumerate(self.hints, 1)
        )
        heading = f"**Exercise {self.number} · {self.title}** · about {self.minutes} minutes"
        return f"{heading}\n\n{self.statement}\n\n{hints}"

    def __repr__(self):
        return f"Exercise {self.number}: {self.title}"


def call(answer: Callable, *args):
    """Call the learner's function; one that returns ... or is not implemented is not done yet."""
    if answer is ...:
        raise NotDone
    if not callable(answer):
        raise Wrong(f"needs the function itself, got {type(answer).__name__}.")
    try:
        result = answer(*args)
    except NotImplementedError:
        raise NotDone from None
    if result is ...:
        raise NotDone
    if result is None:
        raise Wrong("returned None: what it computes has to be returned.")
    return result


def compare(where: str, yours: object, expected: torch.Tensor, why: str = "") -> None:
    """Raise Wrong unless `yours` is a tensor like `expected`; name the first place that differs."""
    if not isinstance(yours, torch.Tensor):
        raise Wrong(f"{where}: yours is {type(yours).__name__}, expected a tensor. {why}".strip())
    if yours.shape != expected.shape:
        shapes = f"yours has shape {tuple(yours.shape)}, expected {tuple(expected.shape)}"
        raise Wrong(f"{where}: {shapes}. {why}".strip())
    different = ~torch.isclose(yours.detach().to(expected.dtype), expected, equal_nan=True)
    if different.any():
        i = different.flatten().nonzero()[0].item()
        place = f" [{i}]" if expected.dim() else ""
        numbers = [f"{round(t.detach().flatten()[i].item(), 4):g}" for t in (yours, expected)]
        raise Wrong(f"{where}{place}: yours {numbers[0]}, expected {numbers[1]}. {why}".strip())
