"""Exercises on default gradients: a NaN to avoid, and a gradient that no slope explains."""

import torch

from lessons.exercises.bug_hunt import CallRecorder
from lessons.exercises.exercise import Exercise, Wrong
from lessons.exercises.pointwise import (
    draw_against,
    gradients_for,
    own_functions,
    run_on_leaves,
)

float32, float64 = torch.float32, torch.float64
PAIRS = (  # a, b and upstream gradients, none of them 1
    (
        torch.tensor([[0.0, 3.0, 0.0], [-5.0, 0.0, 3e-9]], dtype=float64),
        torch.tensor([[0.0, 4.0, 2.0], [0.0, 0.0, -4e-9]], dtype=float64),
        torch.tensor([[2.0, -3.0, 5.0], [0.5, 7.0, -4.0]], dtype=float64),
    ),
    (torch.tensor([1.5, 0.0, -3.0]), torch.tensor([2.0, 0.0, 4.0]), torch.tensor([3.0, 2.0, -2.0])),
    (torch.zeros((), dtype=float64), torch.zeros((), dtype=float64), torch.tensor(3.0).double()),
)
# The node of the learner's last step -> why its gradient is NaN where both are 0.
NAN_AFTER = {
    "Hypot": "The gradient of hypot is a / length: there, 0 / 0.",
    "Sqrt": "A root is infinitely steep at 0, and a square is flat: ∞ · 0.",
    "Pow": "The power 0.5 is infinitely steep at 0, and a square is flat: ∞ · 0.",
    "Where": "The branch that where leaves out gets the gradient 0, and its backward multiplies "
    "that by 0 / 0 or ∞: NaN again. Choose before you compute the length.",
    "NanToNum": "The value has no NaN to repair. The NaN appears in backward, in the step before.",
}


def _check_length(answer):
    for a, b, upstream in PAIRS:
        *inputs, length = run_on_leaves(answer, a, b)
        right = torch.hypot(a, b)
        _compare_lengths(length, right, a, b)
        gradients = gradients_for(upstream, length, *inputs)
        for name, gradient, side in zip("ab", gradients, (a, b), strict=True):
            if gradient is None:
                raise Wrong(f"gradient of {name}: yours None: nothing leads from the length to it.")
            expected = torch.where(right == 0, 0, upstream * side / right)
            _compare_gradients(name, gradient, expected, a, b, upstream, _last_step(length))


def _compare_lengths(length, right, a, b):
    for where, yours, expected in _by_element(a, b, length.detach(), right):
        if not abs(yours - expected) <= 1e-5 * expected:  # NaN, too
            why = _why_tiny(yours, length) if expected < 1e-3 else _why_long(yours, length, a, b)
            raise Wrong(f"value at {where}: yours {yours:g}, expected {expected:g}. {why}")


def _why_tiny(yours, length):
    if yours != yours:
        return "Some step computes 0 / 0 there."
    if yours > 0.1:
        return "A safe input gives the length of that input: choose 0 in the result, too."
    if _last_step(length).startswith("Clamp"):
        return "A length that is kept above an epsilon is no longer 0 there."
    return "An epsilon makes every short length longer."


def _why_long(yours, length, a, b):
    if yours == 0:
        return "Only where both are 0 is it 0."
    if torch.allclose(length.detach(), a**2 + b**2):
        return "The root is missing."
    if torch.allclose(length.detach(), a.abs() + b.abs()):
        return "That is |a| + |b|, the way around the corner."
    return "It is the root of a² + b²."


def _compare_gradients(name, gradient, expected, a, b, upstream, step):
    for where, yours, right, factor in _by_element(a, b, gradient, expected, upstream):
        if not abs(yours - right) <= 1e-5 * abs(right):
            why = _why_at_zero(yours, step) if "a = 0, b = 0" in where else _why_there(yours, name)
            raise Wrong(
                f"gradient of {name} at {where}, upstream {factor:g}: yours {yours:g}, "
                f"expected {right:g}. {why}"
            )


def _why_at_zero(yours, step):
    if yours == yours:
        return "There it is 0, for both."
    unknown = "Some step of backward computes 0 / 0 or 0 · ∞."
    return next((why for name, why in NAN_AFTER.items() if step.startswith(name)), unknown)


def _why_there(yours, name):
    if yours == 0:
        return f"Only where both are 0 is it 0; here it is {name} / length, times upstream."
    return f"It is {name} / length, times upstream."


def _last_step(y):
    return y.grad_fn.name() if y.grad_fn else ""


def _by_element(a, b, *tensors):
    """(where, a number of each tensor), element by element."""
    for x, y, *numbers in zip(*(each.flatten().tolist() for each in (a, b, *tensors)), strict=True):
        yield f"a = {x:g}, b = {y:g}", *numbers


def _with_b_zero(length):
    return lambda a: length(a, torch.zeros_like(a))


ON_THE_LINE = (-2.0, -1e12, -0.3, -1e-12, 0.0, -0.0, 1e-12, 0.5, 3.0, 1e12)
LINE_UPSTREAM = torch.tensor([2.0, -3.0, 0.5, 5.0, -4.0, 3.0, -2.0, 7.0, 6.0, -0.5])
AT_ZERO = {
    1: "There it is the slope of the line. Write x as pieces that bend at 0.",
    2: "Each of the two pieces passes on its whole slope. Take pieces that pass on 0.",
}


def _check_flat_at_zero(answer):
    for dtype, shape in ((float32, (10,)), (float64, (2, 5))):
        with CallRecorder() as calls:
            x, y = run_on_leaves(answer, torch.tensor(ON_THE_LINE, dtype=dtype).reshape(shape))
        if calls.called & {"detach", "detach_", "data"}:
            raise Wrong("it cuts the graph with detach. Here no cut is needed.")
        for number, yours in zip(ON_THE_LINE, y.flatten().tolist(), strict=True):
            if not abs(yours - number) <= 1e-6 * abs(number):
                value = f"value at x = {number:g}: yours {yours:g}, expected {number:g}."
                raise Wrong(value + _what_is_lost(number, yours))
        (gradient,) = gradients_for(LINE_UPSTREAM.reshape(shape), y, x)
        if own_functions(y):
            raise Wrong("it contains a Function of your own. torch's own operations suffice.")
        if gradient is None:
            raise Wrong("gradient: yours None. Nothing leads from the value to x.")
        for number, yours, upstream in zip(
            ON_THE_LINE, gradient.flatten().tolist(), LINE_UPSTREAM.tolist(), strict=True
        ):
            expected = upstream if number else 0.0
            if abs(yours - expected) <= 1e-6 * abs(expected):
                continue
            why = "Away from 0 it is upstream, times the slope 1."
            if not number:
                why = AT_ZERO.get(yours / upstream, "There it is 0.")
            if yours != yours:
                why = "Some step of backward computes 0 / 0 or ∞ · 0: both are nan."
            raise Wrong(
                f"gradient at x = {number:g}, upstream {upstream:g}: yours {yours:g}, "
                f"expected {expected:g}. {why}"
            )


def _what_is_lost(number, yours):
    """What the answer lost of the value."""
    if yours != yours:
        return " 0 / 0 is nan: a quotient has no value there."
    if yours == -number:
        return " The sign is lost."
    if number < 0 and yours == 0:
        return " The negative half is lost."
    return " x goes further than that: it has no bounds." if abs(yours) < abs(number) else ""


EXERCISES = (
    Exercise(
        "09.1",
        "A length that trains",
        7,
        "Write `length(a, b)`. Its value and its gradient are those of `torch.hypot(a, b)`, except "
        "where `a` and `b` are both 0. There the gradient of `hypot` is NaN; yours is 0 for both. "
        "The two tensors have the same shape, any shape, and some of their elements may be 0.",
        (
            "No operation after `hypot` can repair its gradient. At best it passes back a 0, and 0 "
            "times NaN is NaN.",
            "So never give `hypot` two zeros. Where both are 0, give it another number for `a`. "
            "That is the first `torch.where`.",
            "Now the value is wrong where both are 0. A second `torch.where` puts the 0 there, and "
            "passes no gradient back.",
        ),
        _check_length,
        "The gradient is 0 where both are 0 and the direction elsewhere, and never NaN.",
        draw_against(torch.abs, (-2.0, 2.0), of=_with_b_zero, name="a, at b = 0"),
    ),
    Exercise(
        "09.2",
        "A line, flat at one point",
        5,
        "Write `flat_at_zero(x)`. Its value is x, for every x. Its gradient is 1, except at x = 0, "
        "where it is 0. Build it from two of torch's own operations that bend at 0, without "
        "`detach` and without a Function of your own.",
        (
            "The value is a straight line, so no slope is 0. But autograd never sees the line, "
            "only the pieces that you build it from.",
            "Which operations have a kink at 0, and gradient 0 there? Add or multiply two of them.",
            "`relu(x)` is the right half of x. The left half is `-relu(-x)`.",
        ),
        _check_flat_at_zero,
        "The slope is 1, but autograd returns 0: the chain rule does not preserve subgradients.",
        draw_against(lambda x: torch.relu(x) - torch.relu(-x), (-2.0, 2.0)),
    ),
)
