"""A slider that runs backward through a small graph, one step at a time."""

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType

import torch

from helpers.explore.drawings.backward_run import BackwardDrawing
from helpers.explore.explorer import Explorer, explore, without_our_frames
from helpers.explore.player import Playable

INTERVAL = 1500  # milliseconds for one step: each has a sentence to read


def explore_backward(
    loss: Callable[..., torch.Tensor],
    tensors: Mapping[str, torch.Tensor],
    *,
    tries: Mapping[object, list] | None = None,
    **sliders: object,
) -> Explorer:
    """Show step by step what `loss().backward()` does, with the numbers of a live graph.

    `loss` is a function that computes the loss: a tensor alone remembers neither the numbers of its
    forward pass nor what was detached. `tensors` names those whose .grad is of interest; nothing is
    written there. The backward of each operation runs several times, to measure its local
    derivative. `sliders` and `tries` are for parameters of the function, as in `explore`. If it
    returns several numbers, `v1=(-1.0, 1.0)`, `v2=…` set the weights with which backward starts.
    It starts before backward, or, with sliders, at the end of it, where they change most.
    Raises ValueError for a graph that is too large to read, TypeError for other arguments.

    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> e = explore_backward(lambda: (3 * w) ** 2, {"w": w})
    >>> e.set(step=1); e.summary.split(". ")[0]
    'What backward does, step=1: PowBackward0 gets the upstream gradient 1'
    """
    if not callable(loss):
        raise TypeError(
            f"explore_backward needs a function that computes the loss, got {type(loss).__name__}: "
            "write def loss(): return ..., or lambda: ... (a tensor does not remember the numbers "
            "of its forward pass)"
        )
    if not isinstance(tensors, Mapping) or not all(
        isinstance(tensor, torch.Tensor) for tensor in tensors.values()
    ):
        raise TypeError(f'tensors has to be like {{"w": w}}, a name for each, got {tensors!r}')
    for name, parameter in inspect.signature(loss).parameters.items():
        if parameter.default is parameter.empty:
            raise TypeError(
                f"{name} needs a default, {name}=..., or it has to be a variable outside of the "
                "function"
            )
    try:
        drawing = BackwardDrawing(_as_it_is_now(loss), tensors)
    except Exception as error:
        raise without_our_frames(error) from error.__cause__
    if drawing.weights.keys() - sliders.keys():
        count, names = len(drawing.weights), ", ".join(f"{n}=(-1.0, 1.0)" for n in drawing.weights)
        raise ValueError(
            f"the function returns {count} numbers, and backward needs a weight for each: "
            f"add {names}, or return one number"
        )
    if sliders:  # what they change is seen where backward has been
        drawing.parameters = {**drawing.parameters, "step": drawing.last}
    return explore(
        drawing, step=Playable(0, drawing.last, interval=INTERVAL), tries=tries, **sliders
    )


def _as_it_is_now(fn):
    """fn with the variables of now: a later cell may give their names to other tensors."""
    if not isinstance(fn, FunctionType):
        return fn
    copy = FunctionType(
        fn.__code__, dict(fn.__globals__), fn.__name__, fn.__defaults__, fn.__closure__
    )
    copy.__kwdefaults__ = fn.__kwdefaults__
    return copy
