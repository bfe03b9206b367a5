"""A repaired function against the right one: its value, and its gradient by finite differences.

At several points. The names of the functions that the learner's code calls explain why a gradient
is wrong, and reveal a hook that only hides the mistake.
"""

import torch
from torch.overrides import TorchFunctionMode

from autograd_surprises.numerics import partial_slopes
from lessons.asking.answers import call_answer, expect_close
from lessons.asking.registry import Wrong

REASONS = {  # what the learner's code calls -> why its gradient is not the right one
    "nan_to_num": "nan_to_num replaces NaN afterwards; repair the line that makes it.",
    "detach": "detach keeps the value and cuts the gradient.",
    "data": ".data keeps the value and cuts the gradient.",
    "item": "A Python number has no gradient: stay with tensors.",
    "tolist": "A Python number has no gradient: stay with tensors.",
}
NOT_A_NUMBER = (
    "0 was multiplied by infinity or NaN: a mask after the operation comes too late. "
    "`t.explain(...)` names the line."
)


class CallRecorder(TorchFunctionMode):
    """Records the names of what is called, and the dtypes of the tensors that are returned.

    >>> with CallRecorder() as calls:
    ...     y = torch.ones(2).detach()
    >>> sorted(calls.called), calls.dtypes, calls.reason
    (['detach', 'ones'], {torch.float32}, 'detach keeps the value and cuts the gradient.')
    """

    def __init__(self):
        super().__init__()
        self.called, self.dtypes = set(), set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in ("__get__", "__set__"):  # of an attribute, such as .data
            name = getattr(function.__self__, "__name__", "")
        self.called.add(name)
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.dtypes.add(result.dtype)
        return result

    @property
    def reason(self):
        """Why the gradient of what was recorded may be wrong, or ""."""
        return next((reason for name, reason in REASONS.items() if name in self.called), "")


def _expect_exact_value(where, yours, right, mistakes, dtype, calls):
    """Stricter than expect_close in float64, so that a small number that was added is noticed."""
    expect_close(where, yours, right, mistakes)
    apart = (yours.detach() - right).abs().item()
    if dtype == torch.float32 or apart <= 1e-12 * right.abs().item():
        return
    why = (
        "A small number that is added, or a bound, moves the value: choose a safe input where it "
        "is not used."
    )
    if torch.float32 in calls.dtypes:
        why = "Yours is computed in float32; keep dtype=x.dtype where you make a tensor."
    raise Wrong(f"{where}: yours is {apart:.0e} away from the expected value.", why)


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
        raise Wrong(
            "a hook replaces the wrong gradient, but the line that makes it wrong is still there. "
            "Repair that line."
        )
    with calls:
        return torch.autograd.grad(loss, leaves, allow_unused=True, retain_graph=True)


def hunt(answer, right, points, mistakes):
    """Compare a learner's function with the right one at each point (weight, other inputs).

    The last point is handed in as float32. `mistakes` is reason -> the function with this mistake.
    """
    for number, point in enumerate(points, 1):
        value = right(*point)
        wrong = {reason: mistake(*point) for reason, mistake in mistakes.items()}
        weight, *rest = point
        left_and_right = partial_slopes(lambda w, rest=rest: right(w, *rest), weight)
        slopes = sum(left_and_right) / 2
        if number == len(points):
            point = [each.float() if each.is_floating_point() else each for each in point]
        weight, *rest = point
        leaf = weight.clone().requires_grad_()
        with CallRecorder() as calls:
            loss = call_answer(answer, leaf, *rest)
        where = f"for random weight {number}"
        _expect_exact_value(f"loss {where}", loss, value, wrong, weight.dtype, calls)
        (gradient,) = gradients_of_loss(loss, [leaf], calls)
        why = "Finite differences say otherwise."
        if gradient is not None and gradient.isnan().any():
            why = NOT_A_NUMBER
        expect_close(f"gradient {where}", gradient, slopes, why=f"{why} {calls.reason}".strip())
        if call_answer(answer, weight.clone(), *rest).requires_grad:
            raise Wrong(
                "value and gradient are right. But for a weight that needs no gradient, the loss "
                "still requires one: requires_grad_() on the loss or on weight will hide the next "
                "cut."
            )
