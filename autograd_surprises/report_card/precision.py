"""Other dtypes and extreme numbers, against fn itself in float64."""

import torch

from autograd_surprises.report_card.example import flat, pattern
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.verdict import (
    in_words,
    require_between,
    require_equal,
    require_number,
    size,
)

LARGE = (300.0, 1e4, 1e8, 1e15)
HUGE = 1e30
DETOUR = (
    "no detour over numbers larger than the result: x + (f(x) - x).detach() rounds f(x) away, and "
    "is NaN at infinity"
)
OVERFLOW = (
    "inf / inf and 0 · inf are NaN: use a formula in which nothing overflows, such as "
    "sigmoid(x) * sigmoid(-x) instead of exp(-x) / (1 + exp(-x)) ** 2"
)


def in_dtype(subject: Subject, dtype: torch.dtype) -> None:
    """Are value and gradient right in this dtype?

    >>> in_dtype(Subject(torch.exp, (torch.ones(2),)), torch.float16)
    """
    tensors = subject.tensors(dtype)
    y = subject.call(tensors).detach()
    grads = flat(subject.gradients(tensors))
    subject.require_float64()
    if subject.grid is not None:
        _require_gradient_wherever_value(subject, dtype)
    if dtype == torch.float64:
        return
    for yours, ask, where in (
        (y.flatten(), _values(subject), subject.at_output(tensors, y)),
        (grads, _gradients(subject), subject.at(tensors, "gradient {}")),
    ):
        _require_near(yours, ask, tensors, where, scale=_scale(subject, ask, tensors))


def _require_gradient_wherever_value(subject, dtype):
    """No NaN where the value is a number, and the gradient in float64 one too."""
    x = subject.outer(dtype)
    (yours,) = subject.gradients([x], torch.ones_like)
    (expected,) = subject.gradients([x.double()], torch.ones_like, subject.like)
    expected[~subject.call([x]).isfinite()] = torch.nan
    where = subject.at([x], "gradient {} for grad_output = 1")
    require_number(yours, expected, where, OVERFLOW)


def autocast(subject: Subject) -> None:
    """Under torch.autocast to bfloat16: with a leaf, and with what a matmul made of it."""
    tensors = subject.tensors(torch.float32)
    subject.require_float64()
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
        _require_near(flat(grads), gradients, tensors, where, torch.bfloat16, scale)


def large_input(subject: Subject) -> None:
    """From 300 to 1e30, in float32 and bfloat16: the value of float64, and the gradient."""
    _require_wide(subject)
    for dtype in filter(subject.accepts, (torch.float32, torch.bfloat16)):
        for sign in (1, -1):
            x = sign * torch.tensor([*LARGE, HUGE], device=subject.device).to(dtype)
            _require_right_at(subject, x, _constant(subject, sign))


def _require_right_at(subject, x, constant):
    dtype = in_words(x.dtype)
    where = subject.at([x], f"{{}} ({dtype})")
    y, grads = subject.call([x]).detach(), subject.gradients([x])[0]
    _require_near(y, _values(subject), [x], where, remedy=DETOUR)
    if constant is not None:  # then float64 at 1e30 need not be right itself
        require_equal(y, constant.to(y.dtype).expand(y.shape), where, DETOUR)
    where = subject.at([x], f"gradient {{}} ({dtype})")
    grads = grads.masked_fill(y.isnan(), 0)  # outside of where fn is defined
    gradients = _gradients(subject, subject.like)

    def ask(tensors):
        return gradients(tensors).masked_fill(y.isnan(), 0)

    _require_near(grads, ask, [x], where)
    if constant is not None:
        require_number(grads, 0 * x, where, OVERFLOW)


def infinite_input(subject: Subject) -> str:
    """At inf, -inf, -0, 0 and NaN: only what is surely wrong counts."""
    _require_wide(subject)
    x = torch.tensor([torch.inf, -torch.inf, -0.0, 0.0, torch.nan], device=subject.device)

    def where(index):
        return f"at x = {x[index]:g}"

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
    subject.require_grid()
    subject.require_float64()


def _constant(subject, sign):
    """The value at all large x, if it is the same at all of them."""
    x = sign * torch.tensor(LARGE, dtype=torch.float64, device=subject.device)
    y = subject.call([x]).detach()
    return y[0] if (y == y[0]).all() else None


def _values(subject):
    return lambda tensors: subject.call(tensors).detach().flatten()


def _gradients(subject, function=None):
    return lambda tensors: flat(subject.gradients(tensors, None, function))


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
    tolerance = 16 * eps * (size(low, high) + scale)
    low = (low - spread).to(dtype).double().masked_fill(spread > 2 * tolerance, torch.nan)
    high = (high + spread).to(dtype).double()
    require_between(yours.double(), low, high, tolerance, where, remedy)


def _scale(subject, ask, tensors):
    """What rounding is relative to: the largest answer anywhere, at most 1."""
    everywhere = tensors if subject.grid is None else [subject.grid.to(subject.device)]
    return size(ask([tensor.double() for tensor in everywhere])).max().clamp(max=1)
