"""The numbers that the forward pass of one function computed with, and what it called them."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_surprises.facts.graph import Edge, leaf_of
from autograd_surprises.recording.places import frame_of
from autograd_surprises.recording.stack import tensors_in


class ForwardValues:
    """Keeps every tensor that `fn` computes with, while it is watching: for small functions.

    tensors  those that functions of torch took and returned
    names    of the variables of `fn`, by id of the tensor

    >>> def fn():
    ...     double = 2 * w
    ...     return double.exp()
    >>> w, values = torch.zeros((), requires_grad=True), ForwardValues(fn)
    >>> with values.watching():
    ...     result = fn()
    >>> list(values.names.values()), values.at((result.grad_fn, 0))
    (['double'], tensor(1.))
    """

    def __init__(self, fn: Callable):
        self._code = getattr(fn, "__code__", None)
        self._tensors: dict[int, torch.Tensor] = {}
        self._numbers: dict[Edge, torch.Tensor] = {}
        self.names: dict[int, str] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        with _EachFunction(self), _EachOperation(self):
            yield
        self.keep(self.tensors)

    @property
    def tensors(self) -> list[torch.Tensor]:
        return list(self._tensors.values())

    def keep(self, tensors: Iterable[torch.Tensor]) -> None:
        """Keep the numbers that these have now, unless earlier ones are known."""
        for tensor in tensors:
            if tensor.grad_fn is not None:
                self._numbers.setdefault((tensor.grad_fn, tensor.output_nr), numbers_in(tensor))

    def at(self, edge: Edge) -> torch.Tensor | None:
        """The numbers of the tensor with this edge when it was used; None if they are not known."""
        leaf = leaf_of(edge[0])
        return self._numbers.get(edge) if leaf is None else numbers_in(leaf)

    def note(self, tensors: Iterable[torch.Tensor], frame) -> None:
        """A function of torch took or returned these; what are they, and others, called now?"""
        self._tensors.update((id(tensor), tensor) for tensor in tensors)
        frame = frame_of(self._code, frame)
        for name, value in frame.f_locals.items() if frame is not None else ():
            if isinstance(value, torch.Tensor):
                self.names[id(value)] = name
                self._tensors[id(value)] = value  # or a later tensor could get its id, and its name


def numbers_in(tensor: torch.Tensor) -> torch.Tensor:
    """A dense copy of its numbers, without history."""
    return tensor.detach().to_dense().clone()


class _EachFunction(TorchFunctionMode):
    def __init__(self, values):
        super().__init__()
        self._values = values

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self._values.note(tensors_in((args, kwargs or {}, result)), sys._getframe(1))
        return result


class _EachOperation(TorchDispatchMode):
    """It also sees what is computed inside a composite function, and in a double backward."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else torch imports its compiler at the first operation, which takes a second

    def __init__(self, values):
        super().__init__()
        self._values = values

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self._values.keep(tensors_in(args))
        return func(*args, **(kwargs or {}))
