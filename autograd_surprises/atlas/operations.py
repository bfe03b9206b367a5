"""The elementwise operations of the installed torch, each as the line of code that calls it.

One that needs nothing but x is found. To add one that needs more, add its line to calls.py.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from autograd_surprises.atlas.calls import CALLS

SPACES = {"torch": torch, "F": F, "special": torch.special}
NUMBERS = {"zero": 0.0, "half": 0.5, "one": 1.0, "two": 2.0, "minus_one": -1.0}
LEFT_OUT = {"empty_like"}  # gives whatever the memory held
MANY = 32  # by chance, a few numbers may survive dropout twice
EXAMPLES = (-2.3, -0.4, 0.0, 0.3, 0.7, 1.6, float("inf"), float("nan"))


@dataclass(frozen=True)
class Operation:
    """A line of code in x, such as "torch.clamp(x, -1, 1)", that can be called.

    >>> Operation("torch.maximum(x, one)")(torch.tensor([0.0, 2.0]))
    tensor([1., 2.])
    """

    call: str

    @functools.cached_property
    def code(self):
        return compile(self.call, f"<{self.call}>", "eval")

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        others = {name: torch.full_like(x, number) for name, number in NUMBERS.items()}
        return eval(self.code, {**SPACES, **others, "x": x})

    @property
    def name(self) -> str:
        """What is called: torch.clamp."""
        return self.call.partition("(")[0]


def operations() -> list[Operation]:
    """All of them: those that are found, and those of calls.py that this torch has.

    >>> "torch.sin(x)" in [operation.call for operation in operations()]
    True
    """
    written = [Operation(call) for call in CALLS]
    return found() + [each for each in written if exists(each)]


def exists(operation: Operation) -> bool:
    """Does this torch have what the line calls?"""
    space, name = operation.name.split(".")
    return hasattr(SPACES[space], name)


def found() -> list[Operation]:
    """Every function of torch, torch.nn.functional and torch.special that is elementwise in x."""
    native = set(dir(torch._C._VariableFunctions))  # the rest of torch is no mathematics
    calls = []
    for label, space in SPACES.items():
        for name in sorted(dir(space)):
            public = not name.startswith("_") and not name.endswith("_")
            public = public and name not in LEFT_OUT
            if public and (space is not torch or name in native) and callable(getattr(space, name)):
                calls.append(Operation(f"{label}.{name}(x)"))
    with quiet(), torch.random.fork_rng(devices=[]):
        return [operation for operation in calls if is_elementwise(operation)]


def is_elementwise(operation: Callable) -> bool:
    """Does it give each number of x another one, which depends on that number alone?

    >>> is_elementwise(torch.sin), is_elementwise(torch.cumsum), is_elementwise(torch.clone)
    (True, False, False)
    """
    x = torch.tensor(EXAMPLES, dtype=torch.float64).repeat(MANY)
    places = torch.arange(len(x))
    parts = (places, places.view(2, -1), places[x.isfinite()].flip(0))
    try:
        results = [operation(x[part]) for part in parts]
    except Exception:  # it needs more, or something else than real numbers
        return False
    y = results[0]
    if not isinstance(y, torch.Tensor) or y.shape != x.shape or y.dtype != x.dtype:
        return False
    same = [_same(y[part], result) for part, result in zip(parts, results, strict=True)]
    constant = len(y.unique()) == 1
    return all(same) and not constant and not _same(y, x)


def _same(a, b):
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)


@contextmanager
def quiet() -> Iterator[None]:
    """Names that torch is about to drop warn when they are called: the atlas only measures.

    >>> with quiet():
    ...     warnings.warn("going away")
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
