"""Lines that set something up: an optimizer, an attribute, a backward hook, inference mode."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from weakref import WeakKeyDictionary

import torch
from torch import nn

from autograd_surprises.doctor.places import Where, switched_at, user_frame, where_is

HOLDERS = (
    list,
    tuple,
    dict,
    torch.Tensor,
    partial,
)  # nn.Module registers what it knows: no need to look

_built: WeakKeyDictionary[torch.optim.Optimizer, Where] = WeakKeyDictionary()
_stored: WeakKeyDictionary[nn.Module, dict[str, Where]] = WeakKeyDictionary()
_hooked: WeakKeyDictionary[nn.Module, Where] = WeakKeyDictionary()
_inference: list[Where] = []  # the last one
_lock = threading.Lock()
_active = 0
_originals: list = []


@contextmanager
def noting_setup() -> Iterator[None]:
    """While this is active, the lines are noted that set something up.

    >>> with noting_setup():
    ...     optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    >>> built_at(optimizer).line
    2
    """
    global _active
    with _lock:
        if not _active:
            _originals[:] = [vars(kind)[name] for kind, name, _ in NOTED]
            _inference.clear()
            for kind, name, noting in NOTED:
                setattr(kind, name, noting)
        _active += 1
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if not _active:
                for (kind, name, _), original in zip(NOTED, _originals, strict=True):
                    setattr(kind, name, original)


def built_at(optimizer: torch.optim.Optimizer | None) -> Where | None:
    """The line that built this optimizer, if that was seen."""
    return _built.get(optimizer) if optimizer is not None else None


def stored_at(module: nn.Module, name: str) -> Where | None:
    """The line that last stored a holder of tensors as this attribute, if it was seen."""
    return _stored.get(module, {}).get(name)


def hooked_at() -> list[Where]:
    """The lines that registered full backward hooks of living modules."""
    return list(dict.fromkeys(_hooked.values()))


def inference_at() -> Where | None:
    """The line that entered torch.inference_mode() last."""
    return _inference[0] if _inference else None


def _build(optimizer, *args, **kwargs):
    _originals[0](optimizer, *args, **kwargs)
    _built[optimizer] = where_is(user_frame(sys._getframe(1)))


def _store(module, name, value):
    _originals[1](module, name, value)
    if isinstance(value, HOLDERS) and not isinstance(value, nn.Parameter):
        with suppress(TypeError):  # a module that cannot be hashed
            _stored.setdefault(module, {})[name] = where_is(user_frame(sys._getframe(1)))


def _hook(module, *args, **kwargs):
    handle = _originals[2](module, *args, **kwargs)
    _hooked[module] = where_is(user_frame(sys._getframe(1)))
    return handle


def _enter(mode):
    _originals[3](mode)
    _inference[:] = [switched_at(sys._getframe(1))]


NOTED = (
    (torch.optim.Optimizer, "__init__", _build),
    (nn.Module, "__setattr__", _store),
    (nn.Module, "register_full_backward_hook", _hook),
    (torch.inference_mode, "__enter__", _enter),
)
