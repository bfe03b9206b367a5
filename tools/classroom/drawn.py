"""Compare an answer with the solution, for inputs that are drawn anew in each run.

A check has the same inputs for everyone, so a sheet could keep a table of what they give.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from lessons.exercises.answers import as_number, expect_close
from lessons.exercises.registry import Wrong

MOST_CALLS = 6  # of different shapes and types, which are drawn again
DRAWS = 2
# Several answers are right there: other slopes, other losses with these gradients, other
# estimators; and the last one draws.
NOT_COMPARED = {"06.2", "22.1", "22.2", "23.2"}


class Recorder:
    """Calls an answer, and keeps the first arguments of each shape and type."""

    def __init__(self, answer: Callable):
        self.answer, self.calls = answer, {}

    def __call__(self, *args):
        with torch._C.DisableTorchFunction():  # a check may watch what is called
            if len(self.calls) < MOST_CALLS and all(map(_can_be_drawn, _tensors(args))):
                self.calls.setdefault(_signature(args), _changed(args, lambda shape: 1.0))
        return self.answer(*args)


def compare(answer: Callable, solution: Callable, calls: list[tuple], seed: int) -> None:
    """Raise Wrong unless both give the same values and gradients for the arguments, changed."""
    generator = torch.Generator().manual_seed(seed)

    def factor(shape):
        return 0.7 + 0.6 * torch.rand(shape, generator=generator, dtype=torch.float64)

    for args in calls * DRAWS:
        drawn = _changed(args, factor)
        yours, right = _changed(drawn, lambda shape: 1.0), _changed(drawn, lambda shape: 1.0)
        found, expected = answer(*yours), solution(*right)
        _expect_same("for inputs drawn in this run", found, expected, yours, right, factor)


def _expect_same(where, found, expected, yours, right, factor):
    if isinstance(expected, (list, tuple)):
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            raise Wrong(f"{where}: yours is not a list of {len(expected)}.")
        for one, other in zip(found, expected, strict=True):
            _expect_same(where, one, other, yours, right, factor)
    elif isinstance(expected, Tensor) and (expected.requires_grad or expected.dim()):
        expect_close(f"value {where}", found, expected.detach())
        if expected.requires_grad:
            if not found.requires_grad:
                raise Wrong(f"{where}: the value is right, but it has no graph.")
            upstream = factor(expected.shape).to(expected.dtype)
            pairs = zip(
                *(_gradients(*each, upstream) for each in ((found, yours), (expected, right))),
                strict=True,
            )
            for gradient, other in pairs:
                expect_close(f"gradient {where}", gradient, other)
    elif abs(as_number(found) - float(expected)) > 1e-6 * (1 + abs(float(expected))):
        raise Wrong(f"{where}: yours {found}, expected {expected}.")


def _gradients(y, args, upstream):
    leaves = [each for each in _tensors(args) if each.requires_grad]
    found = torch.autograd.grad(y, leaves, upstream, allow_unused=True, retain_graph=True)
    return [
        torch.zeros_like(leaf) if each is None else each
        for leaf, each in zip(leaves, found, strict=True)
    ]


def _tensors(args):
    for each in args:
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, (list, tuple)):
            yield from _tensors(each)


def _can_be_drawn(tensor):
    """Not if it was computed from others, nor in half precision, where each spelling differs."""
    return tensor.grad_fn is None and tensor.dtype not in (torch.float16, torch.bfloat16)


def _signature(args):
    """What calls of the same kind have in common."""
    if isinstance(args, Tensor):
        return args.shape, args.dtype, args.requires_grad
    if isinstance(args, (list, tuple)):
        return tuple(map(_signature, args))
    return args if callable(args) else type(args)


def _changed(value, factor):
    """A copy in which each real number is multiplied by a factor of its own."""
    if isinstance(value, Tensor):
        copy = value.detach().clone()
        if value.is_floating_point():
            copy = (copy * factor(value.shape)).to(value.dtype)
        if isinstance(value, nn.Parameter):
            return nn.Parameter(copy, value.requires_grad)
        return copy.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(_changed(each, factor) for each in value)
    return value * float(factor(())) if isinstance(value, float) else value
