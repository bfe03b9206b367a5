"""What the forward pass did: each call, its line, its place in the graph, what went in and out."""

from __future__ import annotations

import sys
import threading
import weakref
from types import CodeType

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from autograd_surprises.doctor.calls import (
    DECIDES,
    NO_CUTS,
    SHAPE_ONLY,
    SPOILS,
    Call,
    Cut,
    cut_of,
    function_around,
    is_finite,
    name_and_role,
    switched_at,
)
from autograd_surprises.doctor.places import Where, owner, tensors_in, user_frame, where_is

sequence_number = torch.autograd._get_sequence_nr


class trace(TorchFunctionMode):  # noqa: N801  a context manager, written like no_grad
    """Record a forward pass, so that explain() can name lines.

    It sees each call of torch from Python, in this thread, and keeps lines and numbers, no tensors.
    What torch.compile has compiled before runs eagerly inside. An error of autograd that leaves the
    block gets its cause, lines and fix as a note, and `.error` holds them.

    >>> with trace() as t:
    ...     w = torch.ones(2, requires_grad=True); loss = w.detach().sum()
    >>> t.explain(loss, {"w": w})["w"].cause
    'detach'
    """

    def __init__(self):
        super().__init__()
        self.calls: list[Call] = []
        self.error = None
        self.hooks: list[tuple[int, Where | None]] = []
        self.spoiled: list[Call] = []  # the first calls that made inf or NaN of finite numbers
        self._states: dict[int, tuple[weakref.ref, int]] = {}  # by id(tensor), the latest one
        self._earlier: dict[int, int] = {}
        self._sources: dict[int, weakref.ref] = {}  # state of a .data or .detach() -> its tensor
        self._count = 0
        self._in_function: dict[int, Call] = {}
        self._switches: list[tuple[CodeType, Where] | None] = []  # None for on
        self._modules: list[str] = []
        self._paths: dict[int, str] = {}  # by id of the module

    def __enter__(self):
        if self in _active:
            raise RuntimeError("this trace() is recording already: make another one")
        self.error, self._thread = None, threading.get_ident()
        self._stance = None
        if "torch._dynamo" in sys.modules:  # else nothing can be compiled yet
            self._stance = torch.compiler.set_stance("force_eager")
            self._stance.__enter__()
        _active.append(self)
        nn.Module.__call__, nn.Parameter.__new__ = _call_module, staticmethod(_new_parameter)
        return super().__enter__()

    def __exit__(self, kind, error, traceback):
        super().__exit__(kind, error, traceback)
        _active.remove(self)
        if not _active:
            nn.Module.__call__, nn.Parameter.__new__ = _module_call, staticmethod(_parameter_new)
        if self._stance is not None:
            self._stance.__exit__(None, None, None)
        self._switches = []
        if isinstance(error, Exception):
            from autograd_surprises.doctor.errors import finding_of_error

            self.error = finding_of_error(error, self)
            if hasattr(error, "add_note") and self.error.cause != "unknown-error":  # Python 3.11
                error.add_note(f"\n{self.error}")

    def explain(self, loss, wrt=None, *, model=None, optimizer=None, grad_outputs=None):
        """explain(), with the lines of this recording."""
        from autograd_surprises.doctor.examination import examine

        return examine(loss, wrt, model, optimizer, grad_outputs, self, sys._getframe(1))

    def _path_of(self, module):
        if not self._modules and id(module) not in self._paths:
            top = type(module).__name__
            self._paths.update((id(part), path or top) for path, part in module.named_modules())
        return self._paths.get(id(module), type(module).__name__)

    # Tensors have states: each change in place makes a new one.

    def states(self, tensor: torch.Tensor) -> list[int]:
        """The states of this very tensor that were seen, the first one first."""
        reference, state = self._states.get(id(tensor), (None, None))
        if reference is None or reference() is not tensor:
            return []
        states = [state]
        while states[-1] in self._earlier:
            states.append(self._earlier[states[-1]])
        return states[::-1]

    def alive(self) -> list[torch.Tensor]:
        """The tensors that were seen and still exist."""
        tensors = [reference() for reference, _ in list(self._states.values())]
        return [tensor for tensor in tensors if tensor is not None]

    def _state(self, tensor):
        reference, state = self._states.get(id(tensor), (None, None))
        if reference is None or reference() is not tensor:
            return self._new_state(tensor)
        return state

    def _new_state(self, tensor):
        self._count += 1
        self._states[id(tensor)] = weakref.ref(tensor), self._count
        return self._count

    def _next_state(self, tensor):
        earlier = self._state(tensor)
        self._earlier[self._new_state(tensor)] = earlier
        return self._count

    # Each call.

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, role = name_and_role(func)
        before = sequence_number()
        result = func(*args, **kwargs)
        if role == "ignored":
            return result
        inputs = []
        for part in args:
            if isinstance(part, torch.Tensor):
                inputs.append(part)
            elif isinstance(part, (list, tuple, dict)):
                inputs += tensors_in(part)
        if kwargs:
            inputs += tensors_in(kwargs)
        outputs = [result] if isinstance(result, torch.Tensor) else tensors_in(result)
        if role == "change" or kwargs.get("out") is not None:
            self._note_change(name, inputs, outputs, before, kwargs)
        elif role == "number":
            self._note_number(name, inputs, before)
        elif role == "switch":
            self._note_switch(args[0], sys._getframe(1))
        elif role == "hook":
            self.hooks.append((self._state(args[0]), where_is(user_frame(sys._getframe(1)))))
        elif outputs or role == "event":
            self._note(name, inputs, outputs, before, kwargs)
        return result

    def _note_switch(self, on, frame):
        """Recording goes on or off; the end of a with block takes its switch back."""
        if "__exit__" in (frame.f_code.co_name, frame.f_back.f_code.co_name):
            del self._switches[-1:]
        else:
            user = user_frame(frame)
            self._switches.append(None if on else (user.f_code, switched_at(frame, user)))

    def _note_number(self, name, inputs, before):
        """A number that left torch, if the user asked for it and it stands for a tracked tensor."""
        known = [t for t in inputs if t.requires_grad or self.states(t)]
        if known and owner(sys._getframe(2).f_code) != "torch":
            self._count += 1
            cause = "branch" if name in DECIDES else "escape"
            lost = {self._count: Cut(cause, {"operation": name.strip("_")})}
            states = [self._state(t) for t in known]
            self._append(name, before, states, [self._count], lost)

    def _note(self, name, inputs, outputs, before, kwargs=None, lost=None):
        """A call that returns new tensors."""
        if name in SHAPE_ONLY:
            inputs = []
        states, tracked = [], lost is not None
        for tensor in inputs:
            states.append(self._state(tensor))
            tracked = tracked or tensor.requires_grad
        function = None if torch.is_grad_enabled() else function_around(sys._getframe(2))
        same = [id(tensor) for tensor in inputs]
        made, cuts = [], {} if function else NO_CUTS
        for output in outputs:
            if id(output) in same and name != "detach_":
                made.append(self._state(output))
                continue
            made.append((self._next_state if name == "detach_" else self._new_state)(output))
            always = name in ("__deepcopy__", "detach_")
            if always or (tracked and output.grad_fn is None and not function):
                why = lost or self._why(name, output, kwargs)
                if why.cause != "no-derivative" or not any(o.requires_grad for o in outputs):
                    cuts = {**cuts, made[-1]: why}
            if name in ("detach", "data"):
                self._sources[self._count] = weakref.ref(inputs[0])
        shapes = ()
        if len(inputs) == 2 and inputs[0].dim() != inputs[1].dim():
            one_tracked = inputs[0].requires_grad != inputs[1].requires_grad
            shapes = (one_tracked, *(tuple(t.shape) for t in inputs))
        self._append(name, before, tuple(states), tuple(made), cuts, function, shapes=shapes)
        suspect = name.strip("_") in SPOILS and len(self.spoiled) < 9
        if suspect and not all(map(is_finite, outputs)) and all(map(is_finite, inputs)):
            self.spoiled.append(self.calls[-1])
        if self._in_function and not function:
            for tensor, state in zip(inputs, states, strict=True):
                maker = self._in_function.get(state)
                if maker is not None and not tensor.requires_grad:
                    maker.cuts[state] = Cut(
                        "inside-function", {"function": maker.function[0].__name__}
                    )

    def _note_change(self, name, inputs, outputs, before, kwargs):
        """A call that writes into its first tensor, or tensors, or into out=."""
        states = [self._state(t) for t in inputs]
        recording = torch.is_grad_enabled()
        function = None if recording else function_around(sys._getframe(2))
        made, cuts = [], {}
        for changed in tensors_in(kwargs.get("out")) or outputs or inputs[:1]:
            tracked = any(t.requires_grad for t in inputs if recording or t is not changed)
            while changed is not None:
                states.append(self._state(changed))
                source = self._sources.get(states[-1])
                made.append(self._next_state(changed))
                if tracked and not (recording and changed.requires_grad) and not function:
                    cuts[made[-1]] = self._why(name, changed, kwargs)
                if source is not None:
                    self._sources[made[-1]] = source
                    changed = source()  # autograd does not see what is written through an alias
                    if changed is not None:
                        states.append(self._state(changed))
                        made.append(self._next_state(changed))
                        cuts[made[-1]] = Cut("data")
                    break
                changed = changed._base if changed._is_view() else None
        self._append(name, before, states, made, cuts, function, in_place=True)

    def _append(self, name, before, states, made, cuts, function=None, in_place=False, shapes=()):
        frame = user_frame(sys._getframe(3)) or sys._getframe(3)
        module = self._modules[-1] if self._modules else ""
        line = frame.f_code, frame.f_lineno, module
        call = Call(
            len(self.calls), name, line, before, sequence_number(), states, made, cuts, function,
            in_place, shapes,
        )  # fmt: skip
        self.calls.append(call)
        if function:
            self._in_function.update((state, call) for state in made)

    def _why(self, name, result, kwargs):
        if sys._getframe(3).f_code.co_name == "__deepcopy__":  # of a Parameter, which uses .data
            name = "__deepcopy__"
        found = cut_of(name, result, kwargs or {})
        if found.cause == "no-grad" and "distributions" in sys._getframe(3).f_code.co_filename:
            return Cut("no-grad: sample")
        if found.cause != "no-grad" or not self._switches or self._switches[-1] is None:
            return found
        code, switched = self._switches[-1]
        frame = sys._getframe(3)
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        places = (("cut at", where_is(frame)),) if frame else ()
        return Cut("no-grad", places=(*places, ("recording was switched off at", switched)))


# Two things that a TorchFunctionMode does not see are looked at while a trace is active: which
# module is running (a hook would do, but torch.compile warns about hooks), and nn.Parameter(...).

_active: list[trace] = []  # the innermost last
_module_call, _parameter_new = nn.Module.__call__, nn.Parameter.__new__


def _recording_here():
    return next((t for t in _active[-1:] if t._thread == threading.get_ident()), None)


def _call_module(module, *args, **kwargs):
    recording = _recording_here()
    if recording is None:
        return _module_call(module, *args, **kwargs)
    recording._modules.append(recording._path_of(module))
    try:
        return _module_call(module, *args, **kwargs)
    finally:
        recording._modules.pop()


def _new_parameter(cls, data=None, requires_grad=True):
    parameter = _parameter_new(cls, data, requires_grad)
    recording = _recording_here()
    if recording is not None and isinstance(data, torch.Tensor):
        lost = Cut("new-parameter") if data.requires_grad else None
        recording._note("Parameter", [data], [parameter], sequence_number(), lost=lost)
    return parameter
