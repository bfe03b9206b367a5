"""A learner's elementwise function: its result, its gradient, and what it keeps for backward."""

import torch

from helpers.lessons.exercises.exercise import Wrong, call, compare
from helpers.lessons.saved_tensors import saved_tensors

NUMBERS = 1000  # in the tensor whose memory is measured


def run(answer, given):
    """A leaf with these numbers, and the learner's result for it: a tensor like it."""
    if isinstance(answer, type):
        raise Wrong(f"needs a function, got the class: pass {answer.__name__}.apply.")
    x = given.clone().requires_grad_()
    y = call(answer, x)
    if not torch.equal(x, given):
        raise Wrong("it writes into its input, which others still need: work on a copy.")
    if isinstance(y, tuple):
        raise Wrong(f"returns a tuple of {len(y)}, expected the value alone: take [0].")
    if not isinstance(y, torch.Tensor):
        raise Wrong(f"returns a {type(y).__name__}, expected a tensor.")
    if y.dtype != x.dtype:
        kinds = f"yours is {_name(y.dtype)}, expected {_name(x.dtype)}"
        raise Wrong(f"value: {kinds}, as x is. `.to(x.dtype)` converts.")
    if y.shape != x.shape:
        raise Wrong(f"value: yours has shape {tuple(y.shape)}, expected {tuple(x.shape)}.")
    return x, y


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def compare_each(what, x, yours, expected, why=""):
    """Like compare, but the place is named by its x."""
    if not isinstance(yours, torch.Tensor):
        compare(what, yours, expected, why)
    kind = "" if x.dtype == torch.float32 else f" ({_name(x.dtype)})"
    for number, mine, right in zip(x.tolist(), yours, expected, strict=True):
        compare(f"{what} at x = {number:g}{kind}", mine, right, why)


def gradient_of(x, y, upstream):
    """dL/dx for this upstream gradient, or why there is none."""
    if not y.requires_grad:
        raise Wrong("the value is right, but the result has no grad_fn: nothing leads back to x.")
    upstream = upstream[: len(x)].to(y.dtype)
    given = upstream.clone()
    (gradient,) = torch.autograd.grad(y, x, given, allow_unused=True, retain_graph=True)
    if not torch.equal(given, upstream):
        raise Wrong("backward writes into grad_output, which others still need: work on a copy.")
    return gradient


def bytes_kept(answer):
    """Bytes that the graph keeps for each number, and is x itself among them?"""
    x = torch.linspace(-3, 3, NUMBERS).requires_grad_()
    part = torch.linspace(-3, 3, 2 * NUMBERS)[:NUMBERS].requires_grad_()
    kept = []
    for tensor in (x, part):
        with saved_tensors() as saved:
            y = call(answer, tensor)
        kept.append(saved.bytes / NUMBERS)
        del y
    plain, in_part = kept  # a storage counts whole, so a kept x counts twice where it is a part
    return plain, in_part > plain
