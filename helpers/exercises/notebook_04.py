"""Exercises on writing a backward."""

import torch

from helpers.exercises.exercise import Exercise, Wrong, call, compare

X = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])
UPSTREAM = torch.tensor([3.0, -2.0, 0.5, 4.0, -5.0])  # no two alike, none of them 1


def _gradients(answer, inputs, upstream):
    """Value and gradients of the learner's function, and a look at what it did to `upstream`."""
    inputs = [tensor.clone().requires_grad_() for tensor in inputs]
    value = call(answer, *inputs)
    if not isinstance(value, torch.Tensor):
        raise Wrong(f"returns a {type(value).__name__}, expected a tensor.")
    if not value.requires_grad:
        raise Wrong("the result has no grad_fn: call the Function through its .apply.")
    given = upstream.clone()
    gradients = torch.autograd.grad(value, inputs, given, allow_unused=True)
    if not torch.equal(given, upstream):
        raise Wrong("backward writes into grad_output, which others still need: work on a copy.")
    return value.detach(), gradients


def _check_leaky_clamp(answer):
    value, (grad,) = _gradients(answer, [X], UPSTREAM)
    compare("value", value, X.clamp(0, 1), "The value does not leak, only the gradient does.")
    factor = torch.tensor([0.1, 1.0, 1.0, 1.0, 0.1])
    if grad is not None and torch.allclose(grad, factor):
        raise Wrong("gradient [0]: yours 0.1, expected 0.3. backward ignores grad_output.")
    where = "gradient at x = [-1, 0, 0.5, 1, 2] for upstream [3, -2, 0.5, 4, -5],"
    compare(where, grad, factor * UPSTREAM)


def _check_weighted_round(answer):
    weight = torch.tensor([2.0, 3.0, -1.0, 0.5, 4.0])
    x = X + 0.3
    value, (grad_x, grad_weight) = _gradients(answer, [x, weight], UPSTREAM)
    compare("value", value, x.round() * weight)
    if grad_x is None or grad_weight is None:
        missing = "x" if grad_x is None else "weight"
        raise Wrong(f"gradient of {missing}: yours None, expected a tensor: one for each input.")
    right_x, right_weight = UPSTREAM * weight, UPSTREAM * x.round()
    if torch.allclose(grad_x, right_weight) and torch.allclose(grad_weight, right_x):
        raise Wrong("the two gradients are swapped: return them in the order of forward's inputs.")
    if torch.allclose(grad_weight, UPSTREAM * x):
        raise Wrong("gradient of weight: yours uses x, but weight was multiplied by round(x).")
    if torch.allclose(grad_x, UPSTREAM):
        raise Wrong("gradient of x: yours lacks the factor weight.")
    compare("gradient of x", grad_x, right_x)
    compare("gradient of weight", grad_weight, right_weight)


def _check_repaired_square(answer):
    value, (grad,) = _gradients(answer, [X], UPSTREAM)
    compare("value", value, X**2)
    if grad is not None and torch.allclose(grad, 2 * X):
        raise Wrong("gradient [0]: yours -2, expected -6. backward still ignores grad_output.")
    if grad is not None and torch.allclose(grad, UPSTREAM):
        raise Wrong("gradient [0]: yours 3, expected -6. The factor 2 * x is lost.")
    compare("gradient", grad, 2 * X * UPSTREAM)
    double = X.double().requires_grad_()
    if not torch.autograd.gradgradcheck(answer, (double,), raise_exception=False):
        raise Wrong(
            "its second derivative is wrong: compute with the saved x, not with a detached copy."
        )


EXERCISES = (
    Exercise(
        "04.1",
        "A clamp that leaks",
        7,
        "Write `leaky_clamp(x)`. Its value is `x.clamp(0, 1)`. Its gradient is `grad_output` where "
        "0 ≤ x ≤ 1, bounds included, and `0.1 * grad_output` outside, so that no input is ever "
        "stuck.",
        (
            "backward needs to know where x was: save it with `ctx.save_for_backward(x)`.",
            "`torch.where(inside, grad_output, 0.1 * grad_output)` builds the gradient without "
            "writing into `grad_output`.",
        ),
        _check_leaky_clamp,
        "Clamped values, and a way back from outside.",
    ),
    Exercise(
        "04.2",
        "Two inputs, two gradients",
        8,
        "Write `weighted_round(x, weight)` for two tensors of the same shape. Its value is "
        "`x.round() * weight`. Rounding counts as straight-through: the gradient of x is "
        "`grad_output * weight`. The gradient of weight is the ordinary one.",
        (
            "backward returns one gradient for each input of forward, in the same order.",
            "Save `weight` and `x`, and round again in backward: weight was multiplied by the "
            "rounded x.",
        ),
        _check_weighted_round,
        "One gradient for each input, in order.",
    ),
    Exercise(
        "04.3",
        "A backward that does not listen",
        5,
        "`ForgetfulSquare` returns `2 * x`, whatever `grad_output` is. Repair it: write "
        "`repaired_square(x)` with the right gradient for every upstream gradient. Its second "
        "derivative has to be right, too.",
        (
            "The chain rule multiplies: local derivative times what comes from above.",
            "If the class saves x and computes `2 * x * grad_output` with ordinary operations, "
            "the second derivative comes for free.",
        ),
        _check_repaired_square,
        "Linear in grad_output, as every backward has to be.",
    ),
)
