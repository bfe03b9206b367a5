"""Other dtypes and extreme numbers, against fn itself in float64."""

from __future__ import annotations

import torch

from autograd_surprises.numerics import exact_digits
from autograd_surprises.report_card.comparing import (
    in_words,
    require_between,
    require_equal,
    require_number,
    size,
)
from autograd_surprises.report_card.example import pattern
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.vectors import flat
from autograd_surprises.report_card.verdict import NotApplicable, SilentlyWrong

LARGE = (300.0, 1e4, 1e8, 1e15)
HUGE = 1e30
DETOUR = (
    "no detour over numbers larger than the result: x + (f(x) - x).detach() rounds f(x) away, and "
    "is NaN at infinity"
)


def in_dtype(dtype: torch.dtype):
    """The question about this dtype: are value and gradient right, and do they keep the dtype?

    >>> in_dtype(torch.float16).__name__
    'float16'
    """
    name = in_words(dtype)

    def check(subject: Subject) -> str:
        tensors = subject.tensors(dtype)
        y = subject.call(tensors).detach()
        if y.dtype != dtype:
            remedy = "convert the result, y.to(x.dtype), and make constants with dtype=x.dtype"
            raise SilentlyWrong("dtype of the output", in_words(y.dtype), name, remedy)
        grads = flat(subject.gradients(tensors))[0]
        if dtype != torch.float64:
            subject.doubles()
            values, gradients = _values(subject), _gradients(subject)
            scale = _scale(subject, values, tensors)
            where = subject.at_output(tensors, y)
            _require_near(y.flatten(), values, tensors, where, scale=scale)
            scale = _scale(subject, gradients, tensors)
            where = subject.at(tensors, "gradient {}")
            _require_near(grads, gradients, tensors, where, scale=scale)
        return ""

    check.__name__ = name
    return check


def autocast(subject: Subject) -> str:
    """Under torch.autocast to bfloat16: with a leaf, and with what a matmul made of it."""
    tensors = subject.tensors(torch.float32)
    subject.doubles()
    for matmul in (False, True):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        with torch.autocast(subject.device.type, torch.bfloat16):
            inputs = [leaf.clone() for leaf in leaves]
            if matmul:
                row = leaves[0].reshape(1, -1)
                one = torch.eye(row.shape[1], device=row.device)
                inputs[0] = (row @ one).reshape(leaves[0].shape)
            y = subject.apply(inputs, dtype=torch.float32)
        grads = torch.autograd.grad(y, leaves, pattern(y), materialize_grads=True)
        where = subject.at(tensors, f"gradient {'of a bfloat16 input ' * matmul}{{}}")
        gradients = _gradients(subject)
        scale = _scale(subject, gradients, tensors)
        _require_near(flat(grads)[0], gradients, tensors, where, torch.bfloat16, scale)
    return ""


def large_input(subject: Subject) -> str:
    """From 300 to 1e30, in float32 and bfloat16: the value of float64, and the gradient."""
    _require_wide(subject)
    for dtype in filter(subject.accepts, (torch.float32, torch.bfloat16)):
        for sign in (1, -1):
            x = sign * torch.tensor([*LARGE, HUGE], device=subject.device).to(dtype)
            _require_right_at(subject, x, _constant(subject, sign))
    return ""


def _require_right_at(subject, x, constant):
    where = lambda i: f"at x = {exact_digits(x[i].item(), x.dtype)} ({in_words(x.dtype)})"  # noqa: E731
    y, grads = subject.call([x]).detach(), subject.gradients([x])[0]
    _require_near(y, _values(subject), [x], where, remedy=DETOUR)
    if constant is not None:  # then float64 at 1e30 need not be right itself
        require_equal(y, constant.to(y.dtype).expand(y.shape), where, DETOUR)
    of_gradient = lambda i: f"gradient {where(i)}"  # noqa: E731
    _require_near(grads, _gradients(subject, subject.like), [x], of_gradient)


def infinite_input(subject: Subject) -> str:
    """At inf, -inf, -0, 0 and NaN: only what is surely wrong counts.

    >>> infinite_input(Subject(torch.exp, (torch.ones(2),)))
    ''
    """
    _require_wide(subject)
    x = torch.tensor([torch.inf, -torch.inf, -0.0, 0.0, torch.nan], device=subject.device)
    where = lambda index: f"at x = {x[index]:g}"  # noqa: E731
    y = subject.call([x]).detach()
    _require_near(y[2:4], _values(subject), [x[2:4]], lambda index: where(index + 2))
    # a constant 0 is not sure: gelu and silu are NaN there, as 0 * inf is
    constants = [_constant(subject, 1) or torch.nan, _constant(subject, -1) or torch.nan]
    require_number(y[:2], y.new_tensor(constants), where, DETOUR)
    if subject.like:
        yours, expected = (
            subject.gradients([x[:4]], None, function)[0] for function in (None, subject.like)
        )
        require_number(yours, expected, lambda index: f"gradient {where(index)}")
    changed = y.isnan() != x.isnan()
    return "; ".join(f"{x[i]:g} becomes {y[i]:g}" for i in changed.nonzero().flatten())


def _require_wide(subject):
    if subject.grid is None:
        raise NotApplicable("fn is not elementwise: an extreme number would reach the others")
    if subject.narrow:
        ends = f"{subject.grid[0]:g} to {subject.grid[-1]:g}"
        raise NotApplicable(f"fn refuses what lies outside of the example, {ends}")
    subject.doubles()


def _constant(subject, sign):
    """The value at all large x, if it is the same at all of them."""
    x = sign * torch.tensor(LARGE, dtype=torch.float64, device=subject.device)
    y = subject.call([x]).detach()
    return y[0] if (y == y[0]).all() else None


def _values(subject):
    return lambda tensors: subject.call(tensors).detach().flatten()


def _gradients(subject, function=None):
    return lambda tensors: flat(subject.gradients(tensors, None, function))[0]


def _require_near(yours, ask, tensors, where, dtype=None, scale=1.0, remedy=""):
    """Compare with what float64 gives for these numbers, and for numbers a rounding away.

    Where these differ much, rounding x decides, and nothing is said.
    """
    dtype = dtype or yours.dtype
    eps = torch.finfo(dtype).eps
    doubles = [tensor.double() for tensor in tensors]
    answers = [ask([x * (1 + k * eps * pattern(x).sign()) for x in doubles]) for k in range(-2, 3)]
    low, high = torch.stack(answers).amin(0), torch.stack(answers).amax(0)
    spread = torch.where(low == high, 0, high - low)
    tolerance = 16 * eps * (torch.maximum(size(low), size(high)) + scale)
    low = (low - spread).to(dtype).double().masked_fill(spread > 2 * tolerance, torch.nan)
    high = (high + spread).to(dtype).double()
    require_between(yours.double(), low, high, tolerance, where, remedy)


def _scale(subject, ask, tensors):
    """What rounding is relative to: the largest answer anywhere, or 1 if that is larger."""
    everywhere = tensors if subject.grid is None else [subject.grid.to(subject.device)]
    return size(ask([tensor.double() for tensor in everywhere])).max().clamp(max=1)
