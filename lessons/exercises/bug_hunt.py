"""A repaired function against the right one: its value, and its gradient by finite differences.

In float64, at several points. The names of the functions that the learner's code calls explain why
a gradient is wrong, and reveal a hook or a replaced NaN that only hides the mistake.
"""

import re
import warnings

import torch

from autograd_surprises.numerics import partial_slopes
from lessons.exercises.answers import call_answer, expect_close
from lessons.exercises.registry import Wrong
from lessons.recorded_calls import RecordedCalls

HOOK = (
    "a hook replaces the wrong gradient, but the line that makes it wrong is still there. Repair "
    "that line."
)
REASONS = {  # what the learner's code calls -> why its gradient is not the right one
    "nan_to_num": "nan_to_num replaces NaN afterwards; repair the line that makes it.",
    "detach": "detach keeps the value and cuts the gradient.",
    "data": ".data keeps the value and cuts the gradient.",
    "item": "A Python number has no gradient: stay with tensors.",
    "tolist": "A Python number has no gradient: stay with tensors.",
    "numpy": "NumPy has no gradient: stay with tensors.",
    "tensor": "torch.tensor copies numbers without their history: torch.stack keeps it.",
}
NOT_A_NUMBER = (
    "0 was multiplied by infinity or NaN: a mask after the operation comes too late. "
    "`t.explain(...)` names the line."
)


class CallRecorder(RecordedCalls):
    """Knows why the gradient of what it has recorded may be wrong."""

    @property
    def reason(self):
        return next((reason for name, reason in REASONS.items() if name in self.called), "")


def measured_slopes(function, x):
    """The gradient of a function of x, by central differences."""
    left, right = partial_slopes(function, x)
    return (left + right) / 2


def expect_exact_value(where, yours, right, mistakes, dtypes):
    """Stricter than expect_close, so that a small number that was added is noticed."""
    expect_close(where, yours, right, mistakes)
    apart = (yours.detach().to(right.dtype) - right).abs().item()
    if apart <= 1e-12 * right.abs().item():
        return
    why = (
        "A small number that is added, or a bound, moves the value: choose a safe input where it "
        "is not used."
    )
    if torch.float32 in dtypes:
        why = "Yours is computed in float32; keep dtype=x.dtype where you make a tensor."
    raise Wrong(f"{where}: yours is {apart:.0e} away from the expected value. {why}")


def gradients_of_loss(loss, leaves, calls):
    """Gradients of the learner's loss, or the reason why there are none."""
    if not loss.requires_grad:
        raise Wrong(f"the value is right, but the loss has no grad_fn. {calls.reason}")
    if loss.is_leaf:
        raise Wrong(
            "the value is right, but the loss is a leaf: after requires_grad_(), backward() runs "
            "and hides that the graph is cut before it."
        )
    if "register_hook" in calls.called:
        raise Wrong(HOOK)
    with calls:
        return torch.autograd.grad(loss, leaves, allow_unused=True, retain_graph=True)


def refuse_replaced_nan(where, loss, leaf):
    """Raise Wrong if backward makes a NaN on the way, even if none arrives."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that detect_anomaly is slow, and where forward was
            with torch.autograd.detect_anomaly(check_nan=True):
                torch.autograd.grad(loss, leaf)
    except RuntimeError as error:
        found = re.search(r"Function '(\w+)' returned nan", str(error))
        if not found:
            raise
        raise Wrong(
            f"{where}: no NaN arrives, but {found[1]} makes one, and something after it replaces "
            f"it. {NOT_A_NUMBER}"
        ) from None


def _expect_in_float32(answer, right, weight, inputs):
    weight, *inputs = (
        each.float() if each.is_floating_point() else each for each in (weight, *inputs)
    )
    yours, leaf = (weight.clone().requires_grad_() for _ in range(2))
    loss, expected = call_answer(answer, yours, *inputs), right(leaf, *inputs)
    expect_close("loss in float32", loss, expected.detach())
    (gradient,) = torch.autograd.grad(loss, yours)
    expect_close("gradient in float32", gradient, *torch.autograd.grad(expected, leaf))


def hunt(answer, right, points, mistakes):
    """Compare a learner's function with the right one at each point (weight, other inputs).

    mistakes  reason -> the function with this mistake
    """
    for number, (weight, *inputs) in enumerate(points, 1):
        leaf = weight.clone().requires_grad_()
        with CallRecorder() as calls:
            loss = call_answer(answer, leaf, *inputs)
        wrong = {reason: mistake(weight, *inputs) for reason, mistake in mistakes.items()}
        value = right(weight, *inputs)
        expect_exact_value(f"loss for random weight {number}", loss, value, wrong, calls.dtypes)
        (gradient,) = gradients_of_loss(loss, [leaf], calls)
        slopes = measured_slopes(lambda w, inputs=inputs: right(w, *inputs), weight)
        where = f"gradient for random weight {number}"
        if gradient is None:
            why = calls.reason or "No path leads from the loss to it."
            raise Wrong(f"{where}: yours None, expected a tensor. {why}")
        why = NOT_A_NUMBER if gradient.isnan().any() else "Finite differences say otherwise."
        expect_close(where, gradient, slopes, why=f"{why} {calls.reason}".strip())
        refuse_replaced_nan(where, loss, leaf)
    _expect_in_float32(answer, right, weight, inputs)
    if call_answer(answer, weight.clone(), *inputs).requires_grad:
        raise Wrong(
            "value and gradient are right. But for a weight that needs no gradient, the loss still "
            "requires one: requires_grad_() on the loss or on weight will hide the next cut."
        )
