"""What a step may change in a model and in the random generators, put back bit for bit."""

import random
import sys
from collections.abc import Callable

import torch
from torch import nn


class ModelState:
    """Parameters, buffers, .grad, plain attributes of all modules, and random numbers, as of now.

    put_back() makes them so again: the same objects with the same numbers. It cannot undo what a
    step keeps elsewhere: in lists, in files, in an iterator.

    >>> norm = nn.BatchNorm1d(2)
    >>> state, drawn = ModelState(norm), norm(torch.randn(4, 2))
    >>> state.put_back()
    >>> norm.running_mean.tolist(), torch.equal(norm(torch.randn(4, 2)), drawn)
    ([0.0, 0.0], True)
    """

    def __init__(self, model: nn.Module):
        self._dicts = [
            (held, dict(held))
            for part in model.modules()
            for held in (vars(part), part._parameters, part._buffers)
        ]
        self._grads = [(p, p.grad) for p in model.parameters()]
        self._without_hooks = [p for p in model.parameters() if p._backward_hooks is None]
        grads = [grad for _, grad in self._grads if grad is not None]
        tensors = [*model.parameters(), *model.buffers(), *grads]
        self._numbers = [(tensor, tensor.detach().clone()) for tensor in tensors]
        self._random = _generators()

    def put_back(self) -> None:
        for held, before in self._dicts:
            for name in held.keys() - before.keys():
                del held[name]
            for name, value in before.items():
                if held.get(name) is not value or name not in held:
                    held[name] = value
        for parameter, grad in self._grads:
            parameter.grad = grad
        for parameter in self._without_hooks:  # register_hook() leaves an empty dict
            parameter._backward_hooks = None
        for tensor, numbers in self._numbers:
            tensor.data.copy_(numbers)  # .data: autograd need not know of it
        for set_state, state in self._random:
            set_state(state)


def _generators() -> list[tuple[Callable, object]]:
    """(function that sets its state, its state) of each random generator in use."""
    found = [(random.setstate, random.getstate()), (torch.set_rng_state, torch.get_rng_state())]
    if numpy_random := sys.modules.get("numpy.random"):
        found.append((numpy_random.set_state, numpy_random.get_state()))
    if torch.cuda.is_initialized():
        found.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
    return found
