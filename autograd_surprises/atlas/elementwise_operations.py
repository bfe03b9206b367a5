"""The elementwise operations of the installed torch, each as the line of code that calls it."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from autograd_surprises.atlas.rows import EXPRESSIONS
from autograd_surprises.numerics import is_elementwise

SPACES = {"torch": torch, "F": F, "special": torch.special}
CONSTANTS = {"zero": 0.0, "half": 0.5, "one": 1.0, "two": 2.0, "minus_one": -1.0}
LEFT_OUT = {"empty_like"}  # gives whatever the memory held
REPEATS = 32  # by chance, a few numbers may survive dropout twice
# Shown and asked about before all others.
WELL_KNOWN = (
    "torch.relu(x)",
    "torch.clamp(x, -1, 1)",
    "torch.abs(x)",
    "torch.maximum(x, one)",
    "torch.sign(x)",
    "torch.round(x)",
    "torch.sqrt(x)",
    "torch.log(x)",
    "torch.where(x > 0, x, zero)",
)
EXAMPLES = (-2.3, -0.4, 0.0, 0.3, 0.7, 1.6, float("inf"), float("nan"))


def evaluate(expression: str, **names: object) -> torch.Tensor:
    """Evaluate a line of code in torch, F, special and the names given.

    >>> evaluate("torch.abs(x)", x=torch.tensor([-2.0]))
    tensor([2.])
    """
    return eval(_compiled(expression), {**SPACES, "inf": float("inf"), **names})


@functools.cache
def _compiled(expression):
    return compile(expression, f"<{expression}>", "eval")


@dataclass(frozen=True)
class Operation:
    """A line of code in x, such as "torch.clamp(x, -1, 1)", that can be called.

    >>> Operation("torch.maximum(x, one)")(torch.tensor([0.0, 2.0]))
    tensor([1., 2.])
    """

    expression: str

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        constants = {name: torch.full_like(x, number) for name, number in CONSTANTS.items()}
        return evaluate(self.expression, x=x, **constants)

    @property
    def exists(self) -> bool:
        """Does this torch have what the line calls?"""
        space, name = self.expression.partition("(")[0].split(".")
        return hasattr(SPACES[space], name)


def all_operations() -> list[Operation]:
    """Those that need nothing but x, and those of rows.toml that this torch has.

    >>> Operation("torch.sin(x)") in all_operations()
    True
    """
    written = [Operation(expression) for expression in EXPRESSIONS]
    return unary_operations() + [each for each in written if each.exists]


def unary_operations() -> list[Operation]:
    """Every function of torch, torch.nn.functional and torch.special that is elementwise in x."""
    native = set(dir(torch._C._VariableFunctions))  # the rest of torch is no mathematics
    candidates = []
    for label, space in SPACES.items():
        for name in sorted(dir(space)):
            public = not name.startswith("_") and not name.endswith("_")
            public = public and name not in LEFT_OUT
            if public and (space is not torch or name in native) and callable(getattr(space, name)):
                candidates.append(Operation(f"{label}.{name}(x)"))
    with torch.random.fork_rng(devices=[]):
        return [operation for operation in candidates if is_unary(operation)]


def is_unary(operation: Callable) -> bool:
    """Does it need nothing but x, work elementwise, and return neither a constant nor a copy?

    >>> is_unary(torch.sin), is_unary(torch.cumsum), is_unary(torch.clone)
    (True, False, False)
    """
    x = torch.tensor(EXAMPLES, dtype=torch.float64).repeat(REPEATS).view(2, -1)
    try:
        if not is_elementwise(operation, x):
            return False
        y = operation(x)
    except Exception:  # it needs more, or something else than real numbers
        return False
    return len(y.unique()) > 1 and not torch.allclose(y, x, equal_nan=True)
