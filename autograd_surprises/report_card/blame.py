"""What fn consists of: whose forward mode is at fault, a Function's or torch's own?"""

import torch
from torch.autograd import Function
from torch.autograd.function import BackwardCFunction
from torch.func import grad, jvp
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from autograd_surprises.graph import reachable
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.vectors import flat, pattern, shaped


def has_own_jvp(subject: Subject) -> bool:
    """Does fn call a Function with a jvp?

    >>> has_own_jvp(Subject(torch.exp, (torch.ones(2),)))
    False
    """
    y, _ = subject.run(subject.tensors())
    return any(
        isinstance(node, BackwardCFunction) and node._forward_cls.jvp is not Function.jvp
        for node in reachable([y.grad_fn])
    )


def wrong_nested_operation(subject: Subject) -> str:
    """The first operation of torch in fn that, alone, is wrong forward over forward; or "".

    >>> wrong_nested_operation(Subject(torch.exp, (torch.ones(2),)))
    ''
    """
    recorder = _Recorder()
    with recorder:
        subject.run(subject.doubles())
    for operation, leaves, form in recorder.calls:
        try:
            forward, backward = _second_derivatives(operation, leaves, form)
        except Exception:  # it cannot be asked alone
            continue
        if not torch.isclose(forward, backward, rtol=1e-6, atol=1e-9, equal_nan=True):
            return resolve_name(operation) or operation.__name__
    return ""


class _Recorder(TorchFunctionMode):
    """Every call that autograd records, with what it was given. Not those inside a Function."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        leaves, form = tree_flatten((args, kwargs or {}))
        if torch.is_grad_enabled() and any(map(_is_differentiated, leaves)):
            before = [x.clone() if _is_differentiated(x) else x for x in leaves]
            self.calls.append((func, before, form))
        return func(*args, **(kwargs or {}))


def _is_differentiated(thing):
    return isinstance(thing, torch.Tensor) and thing.requires_grad


def _second_derivatives(operation, leaves, form):
    """Along two directions: forward over forward, and backward over backward."""
    given = [leaf.detach() for leaf in leaves if _is_differentiated(leaf)]
    numbers = flat(given)
    one = pattern(numbers)
    other = one.roll(1) - 0.125

    def total(vector):
        parts = iter(shaped(vector, given))
        filled = [next(parts).clone() if _is_differentiated(leaf) else leaf for leaf in leaves]
        args, kwargs = tree_unflatten(filled, form)
        results = tree_leaves(operation(*args, **kwargs))
        return sum((y * pattern(y)).sum() for y in results if _is_real(y))

    def forward(vector):
        return jvp(total, (vector,), (one,))[1]

    def backward(vector):
        return grad(total)(vector) @ one

    return jvp(forward, (numbers,), (other,))[1], grad(backward)(numbers) @ other


def _is_real(thing):
    return isinstance(thing, torch.Tensor) and thing.is_floating_point()
