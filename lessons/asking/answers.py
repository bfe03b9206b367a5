"""Call a learner's answer, and compare what it returns with what is right."""

from collections.abc import Callable, Mapping
from numbers import Real
from types import TracebackType

import torch
from torch import Tensor

from autograd_surprises.numerics import short_number
from lessons.asking.registry import NotDone, Wrong

# Why an answer is wrong -> what that mistake returns.
Mistakes = Mapping[str, Tensor]

_last_returned = ["nothing"]  # in words, for the message when a check cannot use it


def last_returned() -> str:
    """What the learner's function returned last, in words."""
    return _last_returned[0]


def came_through_answer(traceback: TracebackType | None) -> bool:
    """Was the learner's function running in call_answer when this was raised?"""
    while traceback is not None:
        if traceback.tb_frame.f_code is call_answer.__code__:
            return True
        traceback = traceback.tb_next
    return False


def call_answer(answer: Callable, *args, cures: Mapping | None = None, needs_result=True):
    """What the learner's function returns; NotDone if that is ... or if it is not implemented.

    cures  text in a RuntimeError -> what to say about it
    """
    if answer is ...:
        raise NotDone
    if not callable(answer):
        raise Wrong(f"needs the function itself, got {type(answer).__name__}.")
    try:
        result = answer(*args)
    except NotImplementedError:
        raise NotDone from None
    except RuntimeError as error:
        for text, cure in (cures or {}).items():
            if text in str(error):
                raise Wrong(cure) from None
        raise
    _last_returned[0] = in_words(result)
    if result is ...:
        raise NotDone
    if result is None and needs_result:
        raise Wrong("returned None: end the function with `return`.")
    return result


def short_list(values: object) -> str:
    """Numbers as a learner would write them.

    >>> short_list([[1.0, -2.5], [0.0, 3.0]])
    '[[1, -2.5], [0, 3]]'
    """
    if isinstance(values, (list, tuple)):
        return f"[{', '.join(map(short_list, values))}]"
    return f"{values:g}"


def in_words(result: object) -> str:
    """What kind of thing this is.

    >>> in_words((torch.ones(2), 1))
    'a tuple of a float32 tensor of shape (2,), a value of type int'
    """
    if isinstance(result, Tensor):
        kind = str(result.dtype).removeprefix("torch.")
        return f"a {kind} tensor of shape {tuple(result.shape)}"
    if isinstance(result, (list, tuple)):
        parts = ", ".join(map(in_words, result)) or "nothing"
        return f"a {type(result).__name__} of {parts}"
    return f"a value of type {type(result).__name__}"


def as_number(yours: object, where: str = "") -> float:
    """An answer that is one number, as a float."""
    if yours is ...:
        raise NotDone
    if isinstance(yours, Tensor) and yours.numel() == 1:
        yours = yours.item()
    if not isinstance(yours, Real) or yours != yours:
        got = in_words(yours) if isinstance(yours, Tensor) else repr(yours)
        raise Wrong(f"{where}needs a number, got {got}.")
    return float(yours)


def expect_tensor(where: str, yours: object, shape: torch.Size, why: str = "") -> None:
    """Raise Wrong unless `yours` is a tensor of this shape."""
    if isinstance(yours, tuple) and len(yours) == 1:
        why = "torch.autograd.grad returns a tuple with a gradient in it: take [0]."
    if not isinstance(yours, Tensor):
        raise Wrong(f"{where}: yours is {type(yours).__name__}, expected a tensor.", why)
    if yours.shape != shape:
        shapes = f"yours has shape {tuple(yours.shape)}, expected {tuple(shape)}"
        raise Wrong(f"{where}: {shapes}.", why)


def expect_close(
    where: str, yours: object, expected: Tensor, mistakes: Mistakes | None = None, why: str = ""
) -> None:
    """Raise Wrong unless `yours` is close to `expected`; the message names the first difference.

    It ends with the mistake that fits, or else with `why`.
    """
    why = likely_mistake(yours, mistakes or {}) or why
    expect_tensor(where, yours, expected.shape, why)
    different = ~_close(yours.detach(), expected)
    if different.any():
        i = different.nonzero()[0].tolist()
        place = f", entry {i}" if i else ""
        numbers = [short_number(t.detach()[tuple(i)], 4) for t in (yours, expected)]
        raise Wrong(f"{where}{place}: yours {numbers[0]}, expected {numbers[1]}.", why)


def _close(yours: Tensor, expected: Tensor) -> Tensor:
    """Where the two are equal, but for rounding in the less precise of their dtypes."""
    single = torch.float32 in (yours.dtype, expected.dtype)
    rounding = {"rtol": 1e-4, "atol": 1e-6} if single else {}
    return torch.isclose(yours.to(expected.dtype), expected, equal_nan=True, **rounding)


def same(one: object, other: Tensor) -> bool:
    """Is the first a tensor with the numbers of the second, of whatever dtype?"""
    fits = isinstance(one, Tensor) and one.shape == other.shape
    return fits and bool(_close(one.detach(), other.detach()).all())


def likely_mistake(yours: object, mistakes: Mistakes) -> str:
    """The reason of the first mistake that returns what `yours` is."""
    return next((reason for reason, wrong in mistakes.items() if same(yours, wrong)), "")
