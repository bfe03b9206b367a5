"""One call of torch in the forward pass, what kind of call it is, and history that it lost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType
from typing import NamedTuple

import torch

from autograd_surprises.facts.processes import is_spread
from autograd_surprises.recording.guest import runs_its_own_code
from autograd_surprises.recording.places import CodeLine, Where, place_of, where_from

BACKWARDS = {"backward", "grad"}
DECIDES = {"__bool__", "equal", "allclose", "is_nonzero"}
LEAVES_TORCH = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__index__"}
COPIES = {"tensor", "as_tensor", "asarray", "scalar_tensor", "new_tensor"}
ROLES = {
    "number": DECIDES | LEAVES_TORCH,
    "change": {"__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"},
    "event": {"backward", "requires_grad_", "share_memory_", "detach_"},
    "hook": {"register_hook"},
    "switch": {"_set_grad_enabled"},
}
SUMS = {"add", "__add__", "__radd__", "sub", "__sub__", "__rsub__", "add_", "__iadd__", "__isub__"}
PROPERTIES = {"data", "T", "mT", "H", "mH", "real", "imag"}  # that return a tensor of values


@dataclass(frozen=True)
class LostHistory:
    """A result without history, though an input had one, and the call of torch that returned it."""

    call: str  # the name of the function
    dtype: str = ""  # of the result
    real: bool = True  # can its elements carry a gradient? Integers and booleans cannot
    inference: bool = False  # was it made in torch.inference_mode()?
    recording: bool = True  # was recording on?
    switched_off: Where | None = None  # where it was switched off, if that was seen
    led_here: Where | None = None  # the line below that one that led to the call
    create_graph: bool = False  # torch.autograd.grad's argument
    # The code that called the function: of the user, a library or torch.
    caller: CodeType | None = None
    inside: str = ""  # the autograd.Function in whose forward it was made, by name
    applied_at: Where | None = None  # the line that applied this Function

    @property
    def decides(self) -> bool:
        """Did it only decide which branch the program takes?"""
        return self.call in DECIDES

    @property
    def leaves_torch(self) -> bool:
        return self.call in LEAVES_TORCH

    @property
    def operation(self) -> str:
        name = self.call.strip("_")
        return f"torch.{name}" if self.call in COPIES - {"new_tensor"} else name


class ForwardCall(NamedTuple):
    """One call of torch from Python."""

    index: int
    name: str
    line: CodeLine  # of the user, and of the library that it led to
    # The path and the class of the module whose forward was running, or "".
    module: str
    kind: str
    # Numbers of the graph nodes that it made: first <= number < last.
    first: int
    last: int
    # The states of tensors that went in and came out, each state a number.
    inputs: Sequence[int]
    outputs: Sequence[int]
    lost: Mapping[int, LostHistory]  # {output: what is known of its history, which was lost here}
    # The autograd.Function in whose forward it ran, and the line of its apply.
    function: tuple[type, Where | None] | None = None
    in_place: bool = False
    # (how many require a gradient, shape, shape) of two inputs of different shapes.
    shapes: tuple = ()
    number: float = 0.0  # the float of Python that left torch here, or was added to a tensor

    @property
    def where(self) -> Where:
        return place_of(self.line, self.module, self.kind)

    @property
    def node_line(self) -> Where | None:
        """The line that made its graph nodes; inside a Function, the line that called apply."""
        return self.function[1] if self.function else self.where

    @property
    def makes_history(self) -> bool:
        return self.last > self.first or self.function is not None

    @property
    def is_unrecorded_write(self) -> bool:
        """Did it write into a tensor in place, and autograd did not record that?"""
        return self.in_place and not self.makes_history

    @property
    def updates_many(self) -> bool:
        """Does it change many tensors, each by itself, as the step() of an optimizer does?"""
        return self.is_unrecorded_write and self.name.startswith(("_foreach_", "_fused_"))

    @property
    def operation(self) -> str:
        return self.name.strip("_")


@cache
def name_and_role(func) -> tuple[str, str]:
    """The name of a function of torch, and what a call of it means for the recording.

    >>> name_and_role(torch.Tensor.item), name_and_role(torch.relu_)
    (('item', 'number'), ('relu_', 'change'))
    """
    name = func.__name__
    if name == "__get__":
        name = func.__self__.__name__
        return name, "value" if name in PROPERTIES else "ignored"
    if name == "__set__":
        name = f"{func.__self__.__name__}_"
        return name, {"data_": "change", "requires_grad_": "event"}.get(name, "ignored")
    for role, names in ROLES.items():
        if name in names:
            return name, role
    return name, "change" if name.endswith("_") and not name.endswith("__") else "value"


def is_finite(tensor: torch.Tensor) -> bool:
    """Is it free of inf and NaN, as far as can be seen?"""
    if not tensor.is_floating_point() or tensor.is_sparse or is_spread(tensor):
        return True
    if runs_its_own_code(tensor):
        return True
    try:
        with torch._C.DisableTorchFunction():  # another recorder is not to see this
            tensor = tensor.detach()
            return math.isfinite(tensor.sum()) or bool(tensor.isfinite().all())
    except RuntimeError:  # inside vmap and similar transforms, numbers cannot be read
        return True


def function_around(frame: FrameType | None) -> tuple[type, Where | None] | None:
    """The autograd.Function whose forward is running, and the line that called its apply."""
    while frame is not None:
        function = _function_of(frame.f_code) if frame.f_code.co_name == "forward" else None
        if function is not None:
            return function, where_from(frame.f_back)
        frame = frame.f_back
    return None


@cache
def _function_of(code):
    """The Function with this forward. Newer versions of torch call it from C, without a frame."""
    classes = [torch.autograd.Function]
    for function in classes:
        forward = vars(function).get("forward")
        if getattr(getattr(forward, "__func__", forward), "__code__", None) is code:
            return function
        classes += function.__subclasses__()
    return None


def can_carry_a_gradient(tensor: torch.Tensor) -> bool:
    """Has its dtype derivatives?"""
    return tensor.is_floating_point() or tensor.is_complex()


def is_by_product(name: str, output: torch.Tensor, outputs: list[torch.Tensor]) -> bool:
    """Has torch no derivative for it, and one for another result, as for saved statistics?"""
    others = name not in BACKWARDS and any(o.requires_grad for o in outputs if o is not output)
    return others and torch.is_grad_enabled() and can_carry_a_gradient(output)
