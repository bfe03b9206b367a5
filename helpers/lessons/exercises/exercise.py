"""The form of an exercise, and what its check says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

BEFORE = 10.0


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


def call(answer: Callable, *args, cures: Mapping[str, str] | None = None):
    """Call the learner's function; one that returns ... or is not implemented is not done yet.

    cures  what to say instead of a RuntimeError with this text in it, or if the result is "None"
    """
    cures = cures or {}
    if answer is ...:
        raise NotDone
    if not callable(answer):
        raise Wrong(f"needs the function itself, got {type(answer).__name__}.")
    try:
        result = answer(*args)
    except NotImplementedError:
        raise NotDone from None
    except RuntimeError as error:
        for text, cure in cures.items():
            if text in str(error):
                raise Wrong(cure) from None
        raise
    if result is ...:
        raise NotDone
    if result is None:
        raise Wrong(cures.get("None", "returned None: what it computes has to be returned."))
    return result


def compare(where: str, yours: object, expected: torch.Tensor, why: str = "") -> None:
    """Raise Wrong unless `yours` is a tensor like `expected`; name the first place that differs."""
    if isinstance(yours, tuple):
        why = "torch.autograd.grad returns a tuple with a gradient in it: take [0]."
    if not isinstance(yours, torch.Tensor):
        raise Wrong(f"{where}: yours is {type(yours).__name__}, expected a tensor. {why}".strip())
    if yours.shape != expected.shape:
        shapes = f"yours has shape {tuple(yours.shape)}, expected {tuple(expected.shape)}"
        raise Wrong(f"{where}: {shapes}. {why}".strip())
    different = ~torch.isclose(yours.detach().to(expected.dtype), expected, equal_nan=True)
    if different.any():
        i = different.nonzero()[0].tolist()
        place = f" {i}" if i else ""
        numbers = [f"{round(t.detach()[tuple(i)].item(), 4):g}" for t in (yours, expected)]
        raise Wrong(f"{where}{place}: yours {numbers[0]}, expected {numbers[1]}. {why}".strip())


def likely_mistake(yours: object, mistakes: Mapping[str, torch.Tensor]) -> str:
    """The first of the mistakes that gives what `yours` is, for the last words of compare."""
    if isinstance(yours, torch.Tensor):
        for mistake, wrong in mistakes.items():
            if yours.shape == wrong.shape and torch.allclose(yours.to(wrong.dtype), wrong):
                return mistake
    return ""


def preset_grad(*leaves: torch.Tensor) -> None:
    """Let the .grad of each leaf be BEFORE everywhere, as if there had been a backward."""
    for leaf in leaves:
        leaf.grad = torch.full_like(leaf, BEFORE)


def compare_preset_grad(where: str, leaf: torch.Tensor) -> None:
    """Raise Wrong unless leaf.grad is as preset_grad left it."""
    why = "It has to stay as it was: backward() writes there, torch.autograd.grad does not."
    compare(f"{where} after the call", leaf.grad, torch.full_like(leaf, BEFORE), why)
