"""The doctor is a guest in a user's program: when it stays away, and what it does quietly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, FunctionType

import torch
from torch._ops import _len_torch_dispatch_stack_pre_dispatch as _pre_dispatch_modes
from torch.overrides import handle_torch_function
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as modes

from autograd_surprises.recording.places import owned_by_torch, owner

_dispatch_modes = torch._C._len_torch_dispatch_stack
_tracing_state = torch._C._get_tracing_state
_transform = torch._C._functorch.peek_interpreter_stack
_is_profiled = torch.autograd._profiler_enabled


def who_else(tensors: Sequence[torch.Tensor] = ()) -> str:
    """Who records, traces, fakes or counts what runs in this thread; "" if nobody does.

    tensors  that are about to be read: these may have no numbers

    >>> who_else(), who_else([torch.ones(1, device="meta")])
    ('', 'tensors without numbers')
    """
    if torch.compiler.is_compiling():  # first, as this is all that dynamo can trace here
        return "torch.compile or torch.export"
    if any(map(_has_no_numbers, tensors)):
        return NO_NUMBERS
    if any(runs_its_own_code(tensor) and tensor.requires_grad for tensor in tensors):
        return "a tensor subclass with its own __torch_dispatch__"
    if (_dispatch_modes() and not all(map(is_ours, modes()))) or _pre_dispatch_modes():
        return "a dispatch mode"
    if _tracing_state() is not None:
        return "torch.jit.trace"
    if _transform() is not None:
        return "torch.func"
    if _is_profiled():
        return "a profiler"
    return ""


NO_NUMBERS = "tensors without numbers"


def is_ours(mode: object) -> bool:
    """Is this mode of torch one of the doctor's own?"""
    return type(mode).__module__.startswith("autograd_surprises.")


def _has_no_numbers(tensor):
    fake = getattr(sys.modules.get("torch._subclasses.fake_tensor"), "FakeTensor", ())
    with torch._C.DisableTorchFunction():  # a user's mode may count what is asked of a tensor
        return isinstance(tensor, fake) or tensor.is_meta


def runs_its_own_code(tensor: torch.Tensor) -> bool:
    """Would a class outside of torch see what the doctor computes with this tensor?"""
    kind = type(tensor)
    own = kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    return own and not kind.__module__.startswith("torch.")


class Active:
    """Is a patch in use? Not while somebody else is at work: one place asks for all patches."""

    def __init__(self):
        self.on = True

    def __bool__(self):
        return self.on and not who_else()


class Quietly:
    """A context for what the doctor does within a user's call: no exception comes out of it.

    No mode of the user's, nor a recorder, sees what it calls. An error is handed to `tell`.

    >>> with Quietly(print):
    ...     raise ValueError("ours")
    ours
    """

    def __init__(self, tell: Callable[[Exception], object]):
        self._tell = tell

    def __enter__(self):
        self._hidden = torch._C.DisableTorchFunction()
        self._hidden.__enter__()

    def __exit__(self, kind, error, traceback):
        self._hidden.__exit__(kind, error, traceback)
        if isinstance(error, Exception):
            self._tell(error)
            return True
        return False


# A warning names the innermost frame of Python. Where the doctor calls a function for the user,
# that is to be a frame like the user's: same file, same line, same globals.

BORROWED = "<called for the user>"
_borrowed: dict[tuple[int, int], tuple[CodeType, CodeType]] = {}


def _call(function, args, kwargs):
    return function(*args, **kwargs)


def call_for(frame: FrameType, function: Callable, args: tuple, kwargs: dict) -> object:
    """function(*args, **kwargs), in a frame that warnings take for `frame`.

    >>> call_for(sys._getframe(), max, (1, 2), {})
    2
    """
    if frame.f_code is handle_torch_function.__code__:
        handed = frame.f_back  # the function of torch that handed the call over
        frame = handed.f_back
        code = getattr(function, "__code__", handed.f_code)
        if owner(code) != "torch" and not handed.f_code.co_freevars:
            # A user's wrapper of that function stands under its name, and has been called already.
            function = FunctionType(handed.f_code, handed.f_globals)
    frame, function, args, kwargs = _nested(frame, function, args, kwargs)
    return FunctionType(_code_like(frame), frame.f_globals)(function, args, kwargs)


def _nested(frame, function, args, kwargs):
    """Softmax without a dimension warns on behalf of a frame further out; one for each between."""
    for _ in range(3, kwargs.get("_stacklevel", 3)):
        if frame.f_back is None:
            break
        outer = FunctionType(_code_like(frame), frame.f_globals)
        function, args, kwargs, frame = outer, (function, args, kwargs), {}, frame.f_back
    return frame, function, args, kwargs


def _code_like(frame):
    code, line = frame.f_code, frame.f_lineno
    known = _borrowed.get((id(code), line))
    if known is None:
        made = _call.__code__.replace(
            co_filename=code.co_filename, co_firstlineno=line - 1, co_name=BORROWED
        )
        owned_by_torch(made)
        known = _borrowed[id(code), line] = code, made
    return known[1]


def are_saved_tensors_packed() -> bool:
    """Do hooks on saved tensors run that are not torch's? Torch 2.6 does not tell: no."""
    top_of_stack = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
    hooks = top_of_stack and top_of_stack(True)
    code = getattr(hooks and hooks[1], "__code__", None)
    return bool(hooks) and (code is None or owner(code) != "torch")
