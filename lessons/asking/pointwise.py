"""A learner's function of each number alone: its value, its gradient, and what it keeps."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograd_surprises.backward.returned_none import functions_that_return_none
from autograd_surprises.facts.graph import nodes
from lessons.asking.answers import (
    Mistakes,
    call_answer,
    expect_close,
    expect_tensor,
    likely_mistake,
)
from lessons.asking.registry import Wrong
from lessons.saved_tensors import saved_tensors

# Upstream gradients: no two alike, none of them 1.
UPSTREAM = torch.tensor([3.0, 8.0, -2.0, 0.5, 4.0, -5.0, 7.0, -3.0, -6.0, 9.0, 2.5, -8.0])


def run_on_leaves(answer: object, *given: Tensor, rest: tuple = ()) -> tuple:
    """A leaf for each tensor given, and what the answer returns for them and the rest of its
    arguments: a tensor like the first.
    """
    if isinstance(answer, type):
        raise Wrong(f"needs a function, got the class: pass {answer.__name__}.apply.")
    leaves = [tensor.clone().requires_grad_() for tensor in given]
    x, y = leaves[0], call_answer(answer, *leaves, *rest)
    if not all(map(torch.equal, leaves, given)):
        raise Wrong("it writes into its input, which others still need: work on a copy.")
    expect_tensor("value", y, x.shape)
    if y.dtype != x.dtype:
        kinds = f"yours is {y.dtype}, expected {x.dtype}".replace("torch.", "")
        raise Wrong(f"value: {kinds}, as the input is. `.to` converts.")
    return *leaves, y


def gradients_for(upstream: Tensor, y: Tensor, *leaves: Tensor) -> tuple:
    """The gradient of each leaf for this upstream gradient; None where nothing leads to it."""
    if not y.requires_grad:
        raise Wrong("the value is right, but the result has no grad_fn: no path leads back.")
    upstream = upstream[: len(y)].to(y.dtype)
    given = upstream.clone()
    gradients = torch.autograd.grad(y, leaves, given, allow_unused=True, retain_graph=True)
    if not torch.equal(given, upstream):
        raise Wrong("backward writes into grad_output, which others still need: work on a copy.")
    nothing = all(gradient is None for gradient in gradients)
    if nothing and (names := functions_that_return_none(y, *leaves)):
        raise Wrong(f"{names[0]}.backward returned nothing: end it with `return` and a gradient.")
    return gradients


def expect_each(
    what: str,
    x: Tensor,
    yours: object,
    expected: Tensor,
    why: str | Callable[[float], str] = "",
    *,
    mistakes: Mistakes | None = None,
    upstream: Tensor | None = None,
    at: str = "x",
) -> None:
    """Like expect_close, and the message names the place by its x, and by its upstream gradient.

    why  what to say if no mistake fits; or a function of x
    at   what x is called
    """
    expect_tensor(what, yours, expected.shape)
    reason = likely_mistake(yours, mistakes or {})
    kind = "" if x.dtype == torch.float32 else f" ({x.dtype})".replace("torch.", "")
    for i, (number, mine, right) in enumerate(zip(x.tolist(), yours, expected, strict=True)):
        other = why(number) if callable(why) else why
        for_upstream = "" if upstream is None else f", grad_output {upstream[i]:g}"
        where = f"{what} at {at} = {number:g}{kind}{for_upstream}"
        expect_close(where, mine, right, why=reason or other)


def expect_also(
    answer: object,
    right: Callable[..., Tensor],
    *given: Tensor,
    names: Sequence[str] = ("x",),
    rest: tuple = (),
) -> None:
    """Value and gradients are those of `right` for tensors of another shape and dtype, too."""
    *leaves, y = run_on_leaves(answer, *given, rest=rest)
    *right_leaves, right_y = run_on_leaves(right, *given, rest=rest)
    x = given[0]
    among = f"for x of shape {tuple(x.shape)} in {x.dtype}".replace("torch.", "")
    expect_close(f"value {among}", y, right_y.detach())
    count = torch.arange(1.0, y.numel() + 1, dtype=y.dtype).reshape(y.shape)
    upstream = 100 * (2 * count).cos()  # no two alike, and large: every backward is linear
    of_right = gradients_for(upstream, right_y, *right_leaves)
    of_answer = gradients_for(upstream, y, *leaves)
    for name, mine, expected in zip(names, of_answer, of_right, strict=True):
        expect_close(f"gradient with respect to {name} {among}", mine, expected)


def expect_slope(what: str, x: Tensor, gradient: object, slope: Tensor, mistakes: Mistakes) -> None:
    """Raise Wrong unless the gradient for UPSTREAM is the slope times that.

    mistakes  reason -> the slope that this mistake has
    """
    upstream = UPSTREAM[: len(x)]
    wrong = {reason: wrong_slope * upstream for reason, wrong_slope in mistakes.items()}
    wrong["backward ignores grad_output."] = slope
    expect_each(what, x, gradient, slope * upstream, mistakes=wrong, upstream=upstream)


def own_functions(y: Tensor) -> list[str]:
    """The names of the learner's own Functions in the graph of y.

    >>> own_functions(torch.ones(1, requires_grad=True).exp())
    []
    """
    found = nodes(y.grad_fn) if y.grad_fn else []
    own = [node for node in found if isinstance(node, BackwardCFunction)]
    return [type(node).__name__.removesuffix("Backward") for node in own]


def bytes_kept(answer: Callable) -> float:
    """Bytes that the graph keeps for each number."""
    x = torch.linspace(-3, 3, 1000).requires_grad_()
    with saved_tensors() as saved:
        y = call_answer(answer, x)
    return saved.bytes / y.numel()
