"""Where optimizers were built, and where tensors were stored as attributes of modules."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from weakref import WeakKeyDictionary

import torch
from torch import nn

from autograd_surprises.doctor.patches import lock, patch
from autograd_surprises.doctor.places import HERE, Where, user_frame, where_is

HOLDERS = (list, tuple, dict, torch.Tensor)  # nn.Module registers what it knows: no need to look

_built: WeakKeyDictionary[torch.optim.Optimizer, Where] = WeakKeyDictionary()
_stored: WeakKeyDictionary[nn.Module, dict[str, Where]] = WeakKeyDictionary()
_active = 0
_undo: list[Callable[[], None]] = []


@contextmanager
def noting_setup() -> Iterator[None]:
    """While this is active, the lines are noted that build optimizers and store tensors.

    >>> with noting_setup():
    ...     optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    >>> built_at(optimizer).line
    2
    """
    global _active
    with lock:
        if not _active:
            _undo.append(patch(torch.optim.Optimizer, "__init__", _noting_builds))
            _undo.append(patch(nn.Module, "__setattr__", _noting_tensors))
        _active += 1
    try:
        yield
    finally:
        with lock:
            _active -= 1
            while not _active and _undo:
                _undo.pop()()


def built_at(optimizer: torch.optim.Optimizer | None) -> Where | None:
    """The line that built this optimizer, if that was seen."""
    return _built.get(optimizer) if optimizer is not None else None


def stand_in(groups: list, optimizers: list[torch.optim.Optimizer]) -> torch.optim.Optimizer:
    """One that holds these, for others; if it is for one alone, it was built where that was.

    >>> sgd = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    >>> built_at(stand_in(sgd.param_groups[0]["params"], [sgd])) == built_at(sgd)
    True
    """
    made = torch.optim.SGD(groups)
    _built.pop(made, None)
    where = built_at(optimizers[0]) if len(optimizers) == 1 else None
    if where is not None:
        _built[made] = where
    return made


def stored_at(module: nn.Module, name: str) -> Where | None:
    """The line that last stored a tensor, or a list of some, as this attribute, if it was seen."""
    return _stored.get(module, {}).get(name)


def _noting_builds(original):
    @functools.wraps(original)
    def build(optimizer, *args, **kwargs):
        original(optimizer, *args, **kwargs)
        caller = sys._getframe(1)
        if _active and not _is_ours(caller):
            _built[optimizer] = where_is(user_frame(caller))

    return build


def _is_ours(frame: FrameType) -> bool:
    """Does this frame, or the constructor that it is in, belong to the doctor?"""
    outer = frame.f_back if frame.f_code.co_name == "__init__" else frame
    return outer is not None and outer.f_code.co_filename.startswith(HERE)


def _noting_tensors(original):
    @functools.wraps(original)
    def store(module, name, value):
        original(module, name, value)
        if _active and isinstance(value, HOLDERS) and not isinstance(value, nn.Parameter):
            with suppress(Exception):  # a module that cannot be hashed, or not yet
                _stored.setdefault(module, {})[name] = where_is(user_frame(sys._getframe(1)))

    return store
