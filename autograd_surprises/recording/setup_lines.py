"""Lines that set something up: an optimizer, an attribute, a backward hook, inference mode."""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from weakref import WeakKeyDictionary

import torch
from torch import nn

from autograd_surprises.recording.patches import Patches
from autograd_surprises.recording.places import (
    DOCTOR,
    Where,
    owner,
    switched_at,
    user_frame,
    where_is,
)

# nn.Module registers what else it knows: no need to look.
HOLDERS = (list, tuple, dict, torch.Tensor, functools.partial)
FLAG = "requires_grad"  # an attribute that a module does not have

_built: WeakKeyDictionary[torch.optim.Optimizer, Where] = WeakKeyDictionary()
_told: list[Callable[[torch.optim.Optimizer], object]] = []
_stored: WeakKeyDictionary[nn.Module, dict[str, Where]] = WeakKeyDictionary()
_layers: WeakKeyDictionary[nn.Module, Where] = WeakKeyDictionary()
_hooked: WeakKeyDictionary[nn.Module, Where] = WeakKeyDictionary()
_inference: list[Where] = []  # the last one


@contextmanager
def noting_setup() -> Iterator[None]:
    """While this is active, the lines are noted that set something up.

    >>> with noting_setup():
    ...     optimizer = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    >>> built_at(optimizer).line
    2
    """
    with BUILDS, PATCHES as first:
        if first:
            _inference.clear()
        yield


@contextmanager
def noting_builds(tell: Callable[[torch.optim.Optimizer], object]) -> Iterator[None]:
    """While this is active, `tell` is called with each optimizer that the user builds."""
    with BUILDS:
        _told.append(tell)
        try:
            yield
        finally:
            _told.remove(tell)


def built_at(optimizer: torch.optim.Optimizer | None) -> Where | None:
    """The line that built this optimizer, if that was seen."""
    return _built.get(optimizer) if optimizer is not None else None


def stand_in(groups: list, optimizers: list[torch.optim.Optimizer]) -> torch.optim.Optimizer:
    """One that holds these, for others; if it is for one alone, it was built where that was."""
    made = torch.optim.SGD(groups)
    _built.pop(made, None)
    where = built_at(optimizers[0]) if len(optimizers) == 1 else None
    if where is not None:
        _built[made] = where
    return made


def stored_at(module: nn.Module, name: str) -> Where | None:
    """The line that last stored a holder of tensors, or the flag, as this attribute, if seen."""
    return _stored.get(module, {}).get(name)


def layer_made_at(layer: nn.Module) -> Where | None:
    """The line that made this module of torch's, if the user's code did and that was seen."""
    return _layers.get(layer)


def hooked_at() -> list[Where]:
    """The lines that registered full backward hooks of living modules."""
    return list(dict.fromkeys(_hooked.values()))


def inference_at() -> Where | None:
    """The line that entered torch.inference_mode() last."""
    return _inference[0] if _inference else None


def _noting(note):
    """Around a method: call it, and then `note` with the frame that called it and what it got."""

    def around(original, active):
        @functools.wraps(original)
        def method(thing, *args, **kwargs):
            result = original(thing, *args, **kwargs)
            if active:
                with suppress(Exception):  # a module that cannot be hashed, or not yet
                    note(sys._getframe(1), thing, *args, **kwargs)
            return result

        return method

    return around


def _note_build(caller, optimizer, *args, **kwargs):
    if not _is_ours(caller):
        _built[optimizer] = where_is(user_frame(caller))
        for tell in list(_told):
            tell(optimizer)


def _is_ours(frame: FrameType) -> bool:
    """Does this frame, or the constructor that it is in, belong to the doctor?"""
    outer = frame.f_back if frame.f_code.co_name == "__init__" else frame
    return outer is not None and outer.f_code.co_filename.startswith(DOCTOR)


def _note_layer(frame, module, *args, **kwargs):
    if not type(module).__module__.startswith("torch.nn.modules."):
        return
    while frame is not None and owner(frame.f_code) == "torch":
        frame = frame.f_back
    if frame is not None and owner(frame.f_code) == "user":
        _layers[module] = where_is(frame)


def _note_tensors(caller, module, name, value):
    if name == FLAG or (isinstance(value, HOLDERS) and not isinstance(value, nn.Parameter)):
        _stored.setdefault(module, {})[name] = where_is(user_frame(caller))


def _note_hook(caller, module, *args, **kwargs):
    _hooked[module] = where_is(user_frame(caller))


def _note_inference(caller, mode):
    _inference[:] = [switched_at(caller)]


BUILDS = Patches((torch.optim.Optimizer, "__init__", _noting(_note_build)))
PATCHES = Patches(
    (nn.Module, "__init__", _noting(_note_layer)),
    (nn.Module, "__setattr__", _noting(_note_tensors)),
    (nn.Module, "register_full_backward_hook", _noting(_note_hook)),
    (torch.inference_mode, "__enter__", _noting(_note_inference)),
)
