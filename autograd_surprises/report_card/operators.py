"""The operators of torch.library that fn calls: opcheck of them, and what they cannot do."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.autograd.forward_ad as forward_mode
from torch._ops import OpOverload, OpOverloadPacket
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten

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


@dataclass(frozen=True)
class OperatorCall:
    """An operator, what fn gave to it, and whether autograd recorded it.

    It does not inside a Function, nor where no tensor requires a gradient.
    """

    operator: OpOverload | OpOverloadPacket
    args: tuple
    kwargs: dict
    recorded: bool

    @property
    def name(self) -> str:
        return operator_name(self.operator)


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
            self.calls[name] = OperatorCall(func, *given, asked and torch.is_grad_enabled())
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
    """Which operators vmap calls once for each row, as nothing else is registered; or "".

    >>> called_row_by_row(Subject(torch.exp, (torch.ones(2),)))
    ''
    """
    slow = [call.name for call in operator_calls(subject) if not _handles_batches(call.name)]
    return f"calls {', '.join(slow)} once for each row: no register_vmap" if slow else ""


def _handles_batches(name):
    keys = "FuncTorchBatched", "CompositeImplicitAutograd"
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in keys)


def no_tangent(subject: Subject) -> str:
    """What to change if an operator's result, taken alone, has no tangent; or "".

    >>> no_tangent(Subject(torch.exp, (torch.ones(2),)))
    ''
    """
    return _remedy(subject, _drops_tangent, NO_TANGENT)


def remedy_of(subject: Subject, error: Exception) -> str:
    """What to change where fn is refused: what is known about the message or the operator."""
    known = known_message(str(error))
    of_operator = ""
    if known and known.id == "no-setup-context":
        of_operator = _remedy(subject, _is_refused_by_grad, NOT_IN_FUNC)
    return of_operator or remedy_for(str(error))


def _remedy(subject: Subject, at_fault: Callable[[OperatorCall], bool], words: str) -> str:
    """The words about the first operator that is at fault, asked alone; or ""."""
    for call in operator_calls(subject):
        if call.recorded and at_fault(call):
            return words.format(call.name)
    return ""


def _drops_tangent(call):
    with forward_mode.dual_level():
        args, kwargs = tree_map_only(torch.Tensor, _dual, (call.args, call.kwargs))
        try:
            results = tree_leaves(call.operator(*args, **kwargs))
        except Exception:  # it says so itself
            return False
        return all(forward_mode.unpack_dual(y).tangent is None for y in results)


def _dual(tensor):
    given = tensor.detach()
    return forward_mode.make_dual(given, given.clone()) if tensor.requires_grad else given


def _is_refused_by_grad(call):
    leaves, form = tree_flatten((call.args, call.kwargs))
    places = [i for i, leaf in enumerate(leaves) if getattr(leaf, "requires_grad", False)]

    def ask(*tensors):
        filled = dict(enumerate(leaves)) | dict(zip(places, tensors, strict=True))
        args, kwargs = tree_unflatten(filled.values(), form)
        return call.operator(*args, **kwargs)

    try:
        torch.func.vjp(ask, *(leaves[place].detach() for place in places))
    except Exception:
        return True
    return False
