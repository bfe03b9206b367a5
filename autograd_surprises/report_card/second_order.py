"""Gradients of gradients, against finite differences of the first gradient."""

from functools import partial

import torch

from autograd_surprises.messages import remedy_for
from autograd_surprises.numerics import partial_slopes
from autograd_surprises.report_card.example import flat, pattern, shaped
from autograd_surprises.report_card.operators import no_tangent
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.transforms import has_own_jvp
from autograd_surprises.report_card.verdict import (
    NotApplicable,
    SilentlyWrong,
    outside,
    require_between,
    size,
)

CONSTANT = (
    "backward takes for a constant what depends on the input, such as a number that forward "
    "computed: save the input and compute from it in backward"
)
DETACHED = "backward cuts the graph: write it without detach(), .data, NumPy and torch.no_grad()"
TOO_COARSE = "fn rounds to fewer digits than float64 has: finite differences of its gradient fail"
NESTED = (
    "probably pytorch issue 197867: torch does not follow an outer forward derivative into the jvp "
    "of a Function. Leave out the jvp, and spell it without a Function in forward mode"
)
WITHOUT_JVP = (
    "fn calls no Function with a jvp. Perhaps torch's own forward mode of an operation is wrong, "
    "or fn writes under torch.no_grad(), which does not hide the write from forward mode"
)
THROUGH = (
    "autograd also differentiates what backward computes with: save the input or a bool mask, or "
    "detach() what is to count as constant"
)


def double_backward(subject: Subject) -> str | None:
    """The gradient of the gradient, by the input and by grad_output.

    >>> double_backward(Subject(torch.exp, (torch.ones(2),)))
    """
    try:
        return _double_backward(subject)
    except (SilentlyWrong, NotApplicable):
        raise
    except Exception as error:
        try:  # @once_differentiable refuses only a grad_output that requires a gradient
            _double_backward(subject, remedy_for(str(error)))
        except SilentlyWrong:
            raise
        except Exception:
            raise error from None
        raise


def _double_backward(subject, refusal=None):
    """With a grad_output that requires a gradient; or without, as it was refused with one."""
    tensors = subject.doubles()
    constant = refusal is not None
    yours, connected = _second_gradient(subject, tensors, constant=constant)
    inputs = sum(tensor.numel() for tensor in tensors)
    upstream = pattern(subject.call(tensors)).detach()
    moved = tensors if constant else [*tensors, upstream]

    def first(vector):
        of_inputs, of_upstream = vector[:inputs], vector[inputs:]
        given = upstream if constant else of_upstream.reshape(upstream.shape)
        return _weighted(subject.gradients(shaped(of_inputs, tensors), given))

    def where(index):
        if index < inputs:
            place = subject.at(tensors)(index)
            return (
                f"{place}, as in f(x).sum(), whose grad_output is constant" if constant else place
            )
        return f"by number {index - inputs} of grad_output"

    def of_like():
        return _second_gradient(subject, tensors, subject.like, constant)[0]

    remedy = refusal or ((THROUGH if yours[:inputs].any() else CONSTANT) if connected else DETACHED)
    slopes = partial_slopes(first, flat(moved))
    return _require_slopes(subject, yours, slopes, of_like, where, remedy)


def hessian(subject: Subject) -> str | None:
    """torch.func.hessian: forward mode over reverse mode."""
    return _require_second(subject, torch.func.hessian, THROUGH)


def forward_twice(subject: Subject) -> str | None:
    """Forward mode over forward mode."""
    remedy = no_tangent(subject) or (NESTED if has_own_jvp(subject) else WITHOUT_JVP)
    return _require_second(subject, lambda f: torch.func.jacfwd(torch.func.jacfwd(f)), remedy)


def _require_second(subject, derivative, remedy):
    tensors = subject.doubles()
    vector, place = flat(tensors), subject.at(tensors)

    def second(function):
        def total(vector):
            y = subject.call(shaped(vector, tensors), function)
            return (y * pattern(y)).sum()

        return derivative(total)(vector).T.flatten()

    def where(index):  # a row for each number that is moved
        return place(index // len(vector))

    slopes = [side.flatten() for side in subject.slopes_of_gradient]
    of_like = partial(second, subject.like)
    return _require_slopes(subject, second(subject.fn), slopes, of_like, where, remedy)


def _second_gradient(subject, tensors, function=None, constant=False):
    """By all inputs and grad_output, as one vector; and does it depend on them at all?"""
    y, leaves = subject.run(tensors, function)
    upstream = pattern(y).detach().requires_grad_(not constant)
    grads = torch.autograd.grad(y, leaves, upstream, create_graph=True, materialize_grads=True)
    total = _weighted(grads)
    if total.requires_grad:
        total.backward()  # torch.autograd.grad would not hear the error of once_differentiable
    moved = leaves if constant else [*leaves, upstream]
    second = [torch.zeros_like(t) if t.grad is None else t.grad for t in moved]
    return flat(second), total.requires_grad


def _weighted(grads):
    """The sum of all gradients, each number with a weight of its own."""
    vector = flat(grads)
    return (vector * (pattern(vector) + 0.125)).sum()


def _require_slopes(subject, yours, slopes, of_like, where, remedy):
    """Compare with the slopes of the first gradient, or with the second gradient of like."""
    low, high = torch.minimum(*slopes), torch.maximum(*slopes)
    tolerance = _tolerance(low, high)
    if subject.coarse and not subject.like:
        raise NotApplicable(TOO_COARSE)
    if subject.coarse:
        expected = of_like()
        require_between(yours, expected, expected, tolerance, where, remedy)
        return None
    try:
        require_between(yours, low, high, tolerance, where, remedy)
    except SilentlyWrong:
        # a straight-through estimator inside fn replaces both gradients; so may one inside like
        if not subject.like:
            raise
        expected = of_like()
        if outside(yours, expected, expected, tolerance).any():
            raise
        return "the second gradient is that of like, not the slope of the first"
    return None


def _tolerance(low, high):
    steepest = size(low, high)
    return 1e-3 * (steepest + steepest.max()) + 1e-6
