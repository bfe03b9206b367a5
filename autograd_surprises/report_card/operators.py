"""The operators of torch.library that fn calls: opcheck of them, and what they cannot do."""

from typing import NamedTuple

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from autograd_surprises.messages import known_message, remedy_for
from autograd_surprises.report_card.example import operator_name
from autograd_surprises.report_card.subject import Subject

OF_TORCH = {"aten", "prim", "prims", "quantized", "c10d", "_c10d_functional"}
NO_TANGENT = (
    "{} returns no tangent, which counts as 0: torch.library has no registration for forward mode. "
    "Take reverse mode, or call the operator in a torch.autograd.Function with a jvp"
)
NOT_IN_FUNC = (
    "torch.func does not take the backward that is registered for {}: use torch.autograd.grad, or "
    "call the operator in a torch.autograd.Function with setup_context"
)
TESTS = {
    "opcheck: schema": "test_schema",
    "opcheck: autograd registration": "test_autograd_registration",
    "opcheck: fake tensor": "test_faketensor",
    "opcheck: traced backward": "test_aot_dispatch_dynamic",
}


class OperatorCall(NamedTuple):
    """An operator, what fn gave to it, and whether autograd recorded it.

    It does not inside a Function, nor where no tensor requires a gradient.
    """

    name: str
    operator: OpOverload | OpOverloadPacket
    args: tuple
    kwargs: dict
    recorded: bool


def operator_calls(subject: Subject) -> list[OperatorCall]:
    """The first call of each operator of a library other than torch.

    >>> operator_calls(Subject(torch.exp, (torch.ones(2),)))
    []
    """
    recorder = _Recorder()
    with recorder:
        subject.run(subject.tensors())
    return list(recorder.calls.values())


class _Recorder(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.calls = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = operator_name(func)
        if name and name.partition("::")[0] not in OF_TORCH and name not in self.calls:
            given = tree_map_only(torch.Tensor, _copy, (args, kwargs or {}))
            asked = any(getattr(leaf, "requires_grad", False) for leaf in tree_leaves(given))
            self.calls[name] = OperatorCall(name, func, *given, asked and torch.is_grad_enabled())
        return func(*args, **(kwargs or {}))


def _copy(tensor):
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def opcheck(subject: Subject, test: str) -> None:
    """One of the tests of torch.library.opcheck, for each operator that fn calls.

    None of them knows the slope: the last compares backward with itself, traced.
    """
    for call in operator_calls(subject):
        given = call.operator, call.args, call.kwargs
        found = torch.library.opcheck(*given, test_utils=test, raise_exception=False)[test]
        if isinstance(found, Exception):
            raise found


def called_row_by_row(subject: Subject) -> str:
    """Which operators vmap calls once for each row, as nothing else is registered; or ""."""
    slow = [call.name for call in operator_calls(subject) if not _handles_batches(call.name)]
    return f"calls {', '.join(slow)} once for each row: no register_vmap" if slow else ""


def _handles_batches(name):
    return any(_has_kernel(name, key) for key in ("FuncTorchBatched", "CompositeImplicitAutograd"))


def no_tangent(subject: Subject) -> str:
    """What to change in forward mode if an operator has a backward of its own; or ""."""
    return _with_own_backward(subject, NO_TANGENT)


def remedy_of(subject: Subject, error: Exception) -> str:
    """What to change where fn is refused: what is known about the message or the operator."""
    known = known_message(str(error))
    is_operators = known and known.id == "no-setup-context"
    of_operator = _with_own_backward(subject, NOT_IN_FUNC) if is_operators else ""
    return of_operator or remedy_for(str(error))


def _with_own_backward(subject, words):
    """The words about the first operator whose registered backward autograd calls; or ""."""
    names = [call.name for call in operator_calls(subject)
             if call.recorded and _has_kernel(call.name, "Autograd")]  # fmt: skip
    return words.format(names[0]) if names else ""


def _has_kernel(name, key):
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
