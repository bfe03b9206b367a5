"""Which recorders are active, and what they are told that no TorchFunctionMode sees.

That is which module is running, and nn.Parameter(...): both are patched while a recorder is active.
(For modules a hook would do, but torch.compile warns about hooks.)
"""

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from autograd_surprises.recording.patches import Patches

sequence_number = torch.autograd._get_sequence_nr

_active: list = []  # of all threads, the innermost last


@contextmanager
def active_now(recorder) -> Iterator[None]:
    """Within this context, the recorder notes the modules and the Parameters of this thread.

    >>> from autograd_surprises.recording.recorder import Recorder
    >>> with Recorder() as recorder:
    ...     weight = nn.Parameter(torch.ones(1))
    >>> recorder.calls[-1].name
    'Parameter'
    """
    if recorder in _active:
        raise RuntimeError("this trace() is recording already: make another one")
    with PATCHES:
        recorder._thread = threading.get_ident()
        _active.append(recorder)
        try:
            yield
        finally:
            _active.remove(recorder)


def _recorders_of_this_thread():
    thread = threading.get_ident()
    return [recorder for recorder in _active if recorder._thread == thread]


def _noting_modules(original, active):
    def call(module, *args, **kwargs):
        if not active:  # a module compiled meanwhile still calls this
            return original(module, *args, **kwargs)
        recorders = _recorders_of_this_thread()
        for recorder in recorders:
            recorder._modules.append((recorder._path_of(module), type(module).__name__))
        try:
            return original(module, *args, **kwargs)
        finally:
            for recorder in recorders:
                recorder._modules.pop()

    return call


def _noting_parameters(original, active):
    @functools.wraps(original)
    def new(cls, data=None, requires_grad=True):
        before = sequence_number()
        parameter = original(cls, data, requires_grad)
        if active and isinstance(data, torch.Tensor):
            for recorder in _recorders_of_this_thread():
                caller = sys._getframe(1)
                facts = caller, "Parameter", [data], [parameter], before, {}
                recorder._note_quietly(recorder._note, *facts)
        return parameter

    return new


PATCHES = Patches(
    (nn.Module, "__call__", _noting_modules), (nn.Parameter, "__new__", _noting_parameters)
)
