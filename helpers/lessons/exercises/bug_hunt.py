"""A learner's function against the right one: its value, and its gradient by finite differences.

In float64, at several points. What the learner's code calls is watched: it tells why a gradient is
wrong, and it shows a hook or a replaced NaN that only covers the mistake.
"""

import re
import warnings

import torch
from torch.overrides import TorchFunctionMode

from helpers.lessons.exercises.exercise import Wrong, call, compare, likely_mistake

HOOK = (
    "a hook writes another gradient over the wrong one, and the line that makes it wrong is still "
    "there. Repair that line."
)
REASONS = {  # what the learner's code calls -> why its gradient is not the right one
    "nan_to_num": "nan_to_num changes numbers that are NaN; it does not repair where they are "
    "made.",
    "detach": "detach keeps the value and cuts the gradient.",
    "data": ".data keeps the value and cuts the gradient.",
    "item": "A Python number has no gradient: stay with tensors.",
    "tolist": "Python numbers have no gradient: stay with tensors.",
    "numpy": "NumPy has no gradient: stay with tensors.",
    "tensor": "torch.tensor copies numbers without their history: torch.stack keeps it.",
}


NOT_A_NUMBER = (
    "0 met infinity or NaN: a mask after the operation comes too late. Ask the doctor which line."
)


class Watch(TorchFunctionMode):
    """Notes the names of what is called, and the types of the tensors that come out."""

    def __init__(self):
        super().__init__()
        self.called, self.types = set(), set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in ("__get__", "__set__"):  # of an attribute, such as .data
            name = getattr(function.__self__, "__name__", "")
        self.called.add(name)
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.types.add(result.dtype)
        return result

    @property
    def reason(self):
        return next((reason for name, reason in REASONS.items() if name in self.called), "")


def measured_slopes(function, x, step=1e-6):
    """The gradient of a function of x, by central differences."""
    steps = step * torch.eye(x.numel(), dtype=x.dtype).reshape(-1, *x.shape)
    slopes = [(function(x + h) - function(x - h)) / (2 * step) for h in steps]
    return torch.stack(slopes).reshape(x.shape)


def compare_value(where, yours, right, mistakes, types):
    """Tighter than compare: a number that somebody added is to be seen."""
    compare(where, yours, right, likely_mistake(yours, mistakes))
    apart = (yours.detach().to(right.dtype) - right).abs().item()
    if apart > 1e-12 * right.abs().item():
        if torch.float32 in types:
            raise Wrong(
                f"{where}: yours is {apart:.0e} away from the expected value. Yours is computed in "
                "float32; keep dtype=x.dtype where you make a tensor."
            )
        raise Wrong(
            f"{where}: yours is {apart:.0e} away from the expected value. A small number that is "
            "added, or a bound, moves the value: choose a safe input where it is not used."
        )


def gradients_of(loss, leaves, watch):
    """Gradients of the learner's loss, or the reason why there are none."""
    if not loss.requires_grad:
        raise Wrong(f"the value is right, but the loss has no grad_fn. {watch.reason}".strip())
    if loss.is_leaf:
        raise Wrong(
            "the value is right, but the loss is a leaf: requires_grad_() makes backward() run, "
            "and hides that the graph is cut before it."
        )
    if "register_hook" in watch.called:
        raise Wrong(HOOK)
    with watch:
        return torch.autograd.grad(loss, leaves, allow_unused=True, retain_graph=True)


def refuse_replaced_nan(where, loss, leaf):
    """Raise Wrong if a NaN is made on the way back, though none arrives."""
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
            f"{where}: no NaN arrives, but {found[1]} makes one, and something behind it replaces "
            f"it. {NOT_A_NUMBER}"
        ) from None


def hunt(answer, right, points, mistakes):
    """Compare a learner's function with the right one at each point (weight, other inputs)."""
    for number, (weight, *inputs) in enumerate(points, 1):
        leaf = weight.clone().requires_grad_()
        with Watch() as watch:
            loss = call(answer, leaf, *inputs)
        wrong = {reason: mistake(weight, *inputs) for reason, mistake in mistakes.items()}
        value = right(weight, *inputs)
        compare_value(f"loss for random weight {number}", loss, value, wrong, watch.types)
        (gradient,) = gradients_of(loss, [leaf], watch)
        slopes = measured_slopes(lambda w, inputs=inputs: right(w, *inputs), weight)
        where = f"gradient for random weight {number}"
        if gradient is None:
            why = watch.reason or "No path leads from the loss to it."
            raise Wrong(f"{where}: yours None, expected a tensor. {why}")
        why = NOT_A_NUMBER if gradient.isnan().any() else "Expected are finite differences."
        compare(where, gradient, slopes, f"{why} {watch.reason}".strip())
        refuse_replaced_nan(where, loss, leaf)
    constant = weight.clone()
    with Watch() as watch:
        loss = call(answer, constant, *inputs)
    if loss.requires_grad:
        raise Wrong(
            "value and gradient are right. But for a weight that needs no gradient the loss still "
            "says that it needs one: requires_grad_() on the loss or on weight will hide the next "
            "cut."
        )
