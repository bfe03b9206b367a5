"""Call a learner's answer, and compare what it returns with what is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from numbers import Real

import torch

from autograd_surprises.numerics import short_number
from helpers.lessons.exercises.exercise import NotDone, Wrong


def call_answer(answer: Callable, *args, cures: Mapping[str, str] | None = None):
    """What the learner's function returns; NotDone if that is ... or if it is not implemented.

    cures  text in a RuntimeError, or "None" for a result of None -> what to say about it
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
        raise Wrong(cures.get("None", "returned None: end the function with `return`."))
    return result


def as_number(yours: object, where: str = "") -> float:
    """An answer that is one number, as a float."""
    if yours is ...:
        raise NotDone
    if isinstance(yours, torch.Tensor) and yours.numel() == 1:
        yours = yours.item()
    if isinstance(yours, str) and re.fullmatch(r"\s*[-+]?[\d.]+\s*", yours):
        raise Wrong(f"{where}needs a number, got the text {yours!r}: leave out the quotes.")
    if isinstance(yours, bool) or not isinstance(yours, Real) or yours != yours:
        tensor = isinstance(yours, torch.Tensor)
        got = f"a tensor of shape {tuple(yours.shape)}" if tensor else repr(yours)
        raise Wrong(f"{where}needs a number, got {got}.")
    return float(yours)


def expect_tensor(where: str, yours: object, shape: torch.Size, why: str = "") -> None:
    """Raise Wrong unless `yours` is a tensor of this shape."""
    if isinstance(yours, tuple):
        why = "torch.autograd.grad returns a tuple with a gradient in it: take [0]."
    if not isinstance(yours, torch.Tensor):
        raise Wrong(f"{where}: yours is {type(yours).__name__}, expected a tensor. {why}".strip())
    if yours.shape != shape:
        shapes = f"yours has shape {tuple(yours.shape)}, expected {tuple(shape)}"
        raise Wrong(f"{where}: {shapes}. {why}".strip())


def expect_close(
    where: str,
    yours: object,
    expected: torch.Tensor,
    mistakes: Mapping[str, torch.Tensor] | None = None,
    why: str = "",
) -> None:
    """Raise Wrong unless `yours` is close to `expected`; the message names the first difference.

    mistakes  reason -> what that mistake returns: the reason that fits ends the message, else `why`
    """
    why = likely_mistake(yours, mistakes or {}) or why
    expect_tensor(where, yours, expected.shape, why)
    different = ~torch.isclose(yours.detach().to(expected.dtype), expected, equal_nan=True)
    if different.any():
        i = different.nonzero()[0].tolist()
        place = f" {i}" if i else ""
        numbers = [short_number(t.detach()[tuple(i)], 4) for t in (yours, expected)]
        raise Wrong(f"{where}{place}: yours {numbers[0]}, expected {numbers[1]}. {why}".strip())


def likely_mistake(yours: object, mistakes: Mapping[str, torch.Tensor]) -> str:
    """The reason of the first mistake that returns what `yours` is."""
    if isinstance(yours, torch.Tensor):
        for reason, wrong in mistakes.items():
            if yours.shape == wrong.shape and torch.allclose(yours.to(wrong.dtype), wrong):
                return reason
    return ""
