"""Where optimizers were built, and where tensors were stored as attributes of modules."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from weakref import WeakKeyDictionary

import torch
from torch import nn

from autograd_surprises.doctor.places import Where, user_frame, where_is

HOLDERS = (list, tuple, dict, torch.Tensor)  # nn.Module registers what it knows: no need to look

_built: WeakKeyDictionary[torch.optim.Optimizer, Where] = WeakKeyDictionary()
_stored: WeakKeyDictionary[nn.Module, dict[str, Where]] = WeakKeyDictionary()
_lock = threading.Lock()
_active = 0
_originals = torch.optim.Optimizer.__init__, nn.Module.__setattr__


@contextmanager
def noting_setup() -> Iterator[None]:
    """While this is active, the lines are noted that build optimizers and store tensors.

    >>> with noting_setup():
    ...     optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    >>> built_at(optimizer).line
    2
    """
    global _active, _originals
    with _lock:
        if not _active:
            _originals = torch.optim.Optimizer.__init__, nn.Module.__setattr__
            torch.optim.Optimizer.__init__, nn.Module.__setattr__ = _build, _store
        _active += 1
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if not _active:
                torch.optim.Optimizer.__init__, nn.Module.__setattr__ = _originals


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


def _build(optimizer, *args, **kwargs):
    _originals[0](optimizer, *args, **kwargs)
    _built[optimizer] = where_is(user_frame(sys._getframe(1)))


def _store(module, name, value):
    _originals[1](module, name, value)
    if isinstance(value, HOLDERS) and not isinstance(value, nn.Parameter):
        with suppress(TypeError):  # a module that cannot be hashed
            _stored.setdefault(module, {})[name] = where_is(user_frame(sys._getframe(1)))
