"""What the forward pass did: each call, its line, its place in the graph, what went in and out."""

import sys
import threading
import weakref
from contextlib import ExitStack, suppress
from types import CodeType
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from autograd_surprises.facts.operations import LIKE_ANOTHER, SHAPE_ONLY, SPOILS
from autograd_surprises.recording.active_recorders import active_now, sequence_number
from autograd_surprises.recording.forward_calls import (
    BACKWARDS,
    SUMS,
    ForwardCall,
    LostHistory,
    can_carry_a_gradient,
    function_around,
    is_by_product,
    is_finite,
    name_and_role,
)
from autograd_surprises.recording.guest import are_saved_tensors_packed, call_for, who_else
from autograd_surprises.recording.mode_stack import before_compiled_code, put_below, take_off
from autograd_surprises.recording.places import (
    Where,
    code_line,
    frame_of,
    owner,
    switched_at,
    user_frame,
    where_from,
    where_is,
)
from autograd_surprises.recording.reused_gradients import ReusedGradients
from autograd_surprises.recording.setup_lines import noting_setup
from autograd_surprises.recording.stack import tensors_in
from autograd_surprises.recording.states import TensorStates, living_nodes, needed

FEW, MANY = 2000, 100_000  # calls: fewer are never dropped, more are not kept for their values


class Recorder(TensorStates, TorchFunctionMode):
    """A context that records each call of torch from Python, in this thread.

    It keeps lines and numbers, no tensors, and forgets a step when its graph is gone. What
    torch.compile compiled earlier runs eagerly inside; without `eager`, the
    recording ends where compiled code begins. Each method takes the frame of the caller: that of
    the code that called torch.

    calls    in order
    hooks    (state of the tensor, line) of each register_hook()
    spoiled  the first calls that turned finite numbers into inf or NaN
    failed   states of the tensors passed to the last backward that raised
    ended    did it end because compiled code began?
    packed   did hooks on saved tensors run that are not torch's? They may allow a single backward
    trouble  the first error of its own that it met, and that the user's code has not seen; or ""

    >>> with Recorder() as recorder:
    ...     y = torch.ones(2).exp()
    >>> [call.name for call in recorder.calls]
    ['ones', 'exp']
    """

    def __init__(self, eager: bool = True):
        TensorStates.__init__(self)
        TorchFunctionMode.__init__(self)
        self.eager, self.ended, self.packed, self.trouble = eager, False, False, ""
        self.calls: list[ForwardCall] = []
        self.hooks: list[tuple[int, Where | None]] = []
        self.spoiled: list[ForwardCall] = []
        self.failed: list[int] = []
        self.reused = ReusedGradients()
        self._sources: dict[int, weakref.ref] = {}  # state of a .data or .detach() -> its tensor
        self._in_function: dict[int, ForwardCall] = {}
        self._switches: list[tuple[CodeType, Where] | None] = []  # None for on
        self._modules: list[tuple[str, str]] = []  # (path, class) of those that run
        self._paths: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()
        self._thread: int | None = None  # in which it records
        self._full = FEW  # calls at which to forget

    def __enter__(self):
        with ExitStack() as undo:
            undo.enter_context(active_now(self))
            undo.enter_context(noting_setup())
            undo.enter_context(self.reused.watching(self._met))
            self.ended = False
            if not self.eager:
                undo.enter_context(before_compiled_code(self._end))
            elif "torch._dynamo" in sys.modules:  # else nothing can be compiled yet
                undo.enter_context(torch.compiler.set_stance("force_eager"))
            put_below(self)
            undo.callback(take_off, self)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *error):
        with self._undo:
            self._switches = []

    def _end(self):
        if self._thread == threading.get_ident():
            self.ended = True
            self.__exit__()

    def _path_of(self, module):
        top = type(module).__name__
        with suppress(Exception):  # a module that cannot be hashed
            if not self._modules and module not in self._paths:
                self._paths.update((part, path or top) for path, part in module.named_modules())
            return self._paths.get(module, top)
        return top

    def module_of(self, where: Where) -> nn.Module | None:
        """The module whose forward was running there; None if several have its path."""
        paths = self._paths.items()
        found = [m for m, p in paths if p == where.module and type(m).__name__ == where.kind]
        return found[0] if len(found) == 1 else None

    def forget(self) -> None:
        """Drop the calls of earlier steps, except those that made tensors or graphs that live."""
        living = self.alive()
        chains = [self.states(tensor) for tensor in living]
        states = {state for chain in chains for state in (chain[0], chain[-1])}
        nodes = living_nodes(living)
        backwards = [i for i, call in enumerate(self.calls) if call.name == "backward"]
        kept = needed(self.calls, states, nodes, backwards[-1] + 1 if backwards else 0)
        if len(kept) > MANY:
            kept = needed(self.calls, states, nodes, len(self.calls))
        known = states.union(*(call.inputs for call in kept), *(call.outputs for call in kept))
        now = {id(call.lost): call._replace(index=i) for i, call in enumerate(kept)}
        self.calls = list(now.values())
        self._full = max(FEW, 2 * len(self.calls))
        self._states = {id(t): self._states[id(t)] for t in living}
        self._earlier = {}
        for chain in chains:
            chain = [state for state in chain if state in known]
            self._earlier.update(zip(chain[1:], chain, strict=False))
        self._sources = {s: t for s, t in self._sources.items() if s in known}
        self._in_function = {
            s: now[id(c.lost)] for s, c in self._in_function.items() if id(c.lost) in now
        }
        self.spoiled = [now[id(call.lost)] for call in self.spoiled if id(call.lost) in now]
        self.hooks = [hook for hook in self.hooks if hook[0] in known]
        del self._switches[:-100]  # set_grad_enabled() outside of a with block is never undone

    # Each call.

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        caller = sys._getframe(1)
        if who_else():
            return call_for(caller, func, args, kwargs)
        name, role = name_and_role(func)
        before = sequence_number()
        if name == "backward":
            self._note_quietly(self.reused.before_backward, caller)
        try:
            result = call_for(caller, func, args, kwargs)
        except Exception:
            if name in BACKWARDS:
                self.failed = [self._state(tensor) for tensor in tensors_in((args, kwargs))]
            raise
        if name == "backward":
            self._note_quietly(self.reused.after_backward)
        if role != "ignored":
            self._note_quietly(self._note_call, caller, name, role, args, kwargs, before, result)
        return result

    def _note_quietly(self, note, *facts):
        """What goes wrong in here is not to end what the user's code does."""
        try:
            with torch._C.DisableTorchFunction():  # modes of the user's may be below this one
                note(*facts)
        except Exception as error:
            self._met(error)

    def _met(self, error):
        self.trouble = self.trouble or f"{type(error).__name__}: {error}"

    def _note_call(self, caller, name, role, args, kwargs, before, result):
        self.packed = self.packed or are_saved_tensors_packed()
        inputs = []
        for part in args:  # tensors_in((args, kwargs)) would make each call 15 % slower
            if isinstance(part, torch.Tensor):
                inputs.append(part)
            elif isinstance(part, (list, tuple, dict)):
                inputs += tensors_in(part)
        if kwargs:
            inputs += tensors_in(kwargs)
        outputs = [result] if isinstance(result, torch.Tensor) else tensors_in(result)
        if role == "change" or kwargs.get("out") is not None:
            # A fused step of an optimizer returns None.
            self._note_change(caller, name, inputs, outputs or tensors_in(args[:1]), before, kwargs)
        elif role == "number":
            self._note_number(caller, name, inputs, before, result)
        elif role == "switch":
            self._note_switch(caller, args[0])
        elif role == "hook":
            self.hooks.append((self._state(args[0]), where_from(caller)))
        elif outputs or role == "event":
            if kwargs.get("max_norm") is not None:  # this look-up scales the rows in place
                self._note_change(caller, "embedding_renorm_", inputs[1:2], inputs[1:2], before, {})
            self._note(caller, name, inputs, outputs, before, kwargs)
        if name in SUMS:
            self._note_float(args)

    def _note_float(self, values):
        """The latest call returned or added one of these, if it is a float."""
        for number in values:
            if isinstance(number, float) and self.calls:
                self.calls[-1] = self.calls[-1]._replace(number=number)

    def _note_switch(self, caller, on):
        """Recording is switched on or off; the end of a with block undoes its switch."""
        user = user_frame(caller) or caller
        if any(f.f_code.co_name == "__exit__" for f in (caller, caller.f_back) if f is not None):
            del self._switches[-1:]
        else:
            self._switches.append(None if on else (user.f_code, switched_at(caller)))

    def _note_number(self, caller, name, inputs, before, result):
        """A number that left torch, if the user's code read it, and from a tracked tensor."""
        known = [t for t in inputs if t.requires_grad or self.states(t)]
        if known and owner(caller.f_code) != "torch":
            self._count += 1
            lost = {self._count: LostHistory(name)}
            self._append(caller, name, before, [self._state(t) for t in known], list(lost), lost)
            self._note_float([result])

    def _note(self, caller, name, inputs, outputs, before, kwargs):
        """A call that returns new tensors."""
        if name in SHAPE_ONLY:
            inputs = []
        elif name in LIKE_ANOTHER:
            inputs = inputs[:1]
        states, tracked = [], False
        for tensor in inputs:
            states.append(self._state(tensor))
            tracked = tracked or tensor.requires_grad
        function = None if torch.is_grad_enabled() else function_around(caller)
        same = [id(tensor) for tensor in inputs]
        made, lost = [], {}
        for output in outputs:
            if id(output) in same and name != "detach_":
                made.append(self._state(output))
                continue
            made.append((self._next_state if name == "detach_" else self._new_state)(output))
            without = tracked and output.grad_fn is None and not function
            if name in ("__deepcopy__", "detach_") or (
                without and not is_by_product(name, output, outputs)
            ):
                lost[made[-1]] = self._lost(name, output, kwargs, caller)
            if name in ("detach", "data"):
                self._sources[self._count] = weakref.ref(inputs[0])
        shapes = ()
        if len(inputs) == 2 and inputs[0].dim() != inputs[1].dim():
            shapes = (
                inputs[0].requires_grad + inputs[1].requires_grad,
                *(tuple(t.shape) for t in inputs),
            )
        self._append(caller, name, before, states, made, lost, function, shapes=shapes)
        suspect = name.strip("_") in SPOILS and len(self.spoiled) < 9
        if suspect and not all(map(is_finite, outputs)) and all(map(is_finite, inputs)):
            self.spoiled.append(self.calls[-1])
        if self._in_function and not function:
            for tensor, state in zip(inputs, states, strict=True):
                maker = self._in_function.get(state)
                if maker is not None and not tensor.requires_grad:
                    function, applied = maker.function
                    maker.lost[state] = LostHistory(
                        name, inside=function.__name__, applied_at=applied
                    )

    def _note_change(self, caller, name, inputs, outputs, before, kwargs):
        """A call that writes into its first tensor, or tensors, or into out=."""
        states = [self._state(t) for t in inputs]
        recording = torch.is_grad_enabled()
        function = None if recording else function_around(caller)
        made, lost = [], {}
        for changed in tensors_in(kwargs.get("out")) or outputs:
            tracked = any(t.requires_grad for t in inputs if recording or t is not changed)
            while changed is not None:
                states.append(self._state(changed))
                source = self._sources.get(states[-1])
                made.append(self._next_state(changed))
                if tracked and not (recording and changed.requires_grad) and not function:
                    lost[made[-1]] = self._lost(name, changed, kwargs, caller)
                if source is not None:
                    self._sources[made[-1]] = source
                    changed = source()  # autograd does not see what is written through an alias
                    if changed is not None:
                        states.append(self._state(changed))
                        made.append(self._next_state(changed))
                        lost[made[-1]] = LostHistory("data")
                    break
                changed = changed._base if changed._is_view() else None
        self._append(caller, name, before, states, made, lost, function, in_place=True)

    def _append(
        self, caller, name, before, states, made, lost, function=None, in_place=False, shapes=()
    ):
        if len(self.calls) >= self._full:
            self.forget()
        module, kind = self._modules[-1] if self._modules else ("", "")
        call = ForwardCall(
            len(self.calls), name, code_line(caller), module, kind, before, sequence_number(),
            tuple(states), tuple(made), lost, function, in_place, shapes,
        )  # fmt: skip
        self.calls.append(call)
        if function:
            self._in_function.update((state, call) for state in made)

    def _lost(self, name, result, kwargs, caller):
        recording = torch.is_grad_enabled()
        switched_off, led_here = (None, None) if recording else self._switched_off(caller)
        return LostHistory(
            name,
            dtype=str(result.dtype).removeprefix("torch."),
            real=can_carry_a_gradient(result),
            inference=result.is_inference() or torch.is_inference_mode_enabled(),
            recording=recording,
            switched_off=switched_off,
            led_here=led_here,
            create_graph=bool(kwargs.get("create_graph")),
            caller=caller.f_code,
        )

    def _switched_off(self, caller):
        """Where recording was switched off, if that was seen, and what then led to the call."""
        if not self._switches or self._switches[-1] is None:
            return None, None
        code, at = self._switches[-1]
        frame = frame_of(code, caller)
        is_users = frame is user_frame(caller)
        return at, where_from(caller) if is_users else where_is(frame)
