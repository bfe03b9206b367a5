"""Exercises on writing a backward."""

import torch

from helpers.lessons.exercises.exercise import Exercise, Wrong, call, compare

X = torch.tensor([-1.0, -0.1, 0.0, 0.5, 1.0, 1.1, 2.0])
WEIGHT = torch.tensor([2.0, 3.0, -1.0, 0.5, 4.0, -2.0, 6.0])
UPSTREAM = torch.tensor([3.0, -2.0, 0.5, 4.0, -5.0, 7.0, -6.0])  # no two alike, none of them 1
POINTS = "x = [-1, -0.1, 0, 0.5, 1, 1.1, 2]"
ASKED = f"gradient for {POINTS} and grad_output = [3, -2, 0.5, 4, -5, 7, -6]"


def _gradients(answer, *inputs):
    """Value and gradients of the learner's function for UPSTREAM."""
    if isinstance(answer, type):
        raise Wrong(f"needs a function, got the class: pass {answer.__name__}.apply.")
    given, inputs = inputs, [tensor.clone().requires_grad_() for tensor in inputs]
    value = call(answer, *inputs)
    if not all(map(torch.equal, given, inputs)):
        raise Wrong("forward writes into its input, which others still need: work on a copy.")
    if not isinstance(value, torch.Tensor):
        raise Wrong(f"returns a {type(value).__name__}, expected a tensor.")
    if not value.requires_grad:
        raise Wrong("the result has no grad_fn: call the Function through its .apply.")
    upstream = UPSTREAM.clone()
    gradients = torch.autograd.grad(value, inputs, upstream, allow_unused=True)
    if not torch.equal(upstream, UPSTREAM):
        raise Wrong("backward writes into grad_output, which others still need: work on a copy.")
    return value.detach(), gradients


def _list(tensor):
    return [round(number, 1) for number in tensor.tolist()]


def _blame(gradient, mistakes):
    """Raise Wrong with the reason of the first known mistake that gives this gradient."""
    for reason, wrong in mistakes.items():
        if gradient is not None and torch.allclose(gradient, wrong):
            raise Wrong(reason)


def _check_leaky_clamp(answer):
    value, (grad,) = _gradients(answer, X)
    compare(f"value at {POINTS}", value, X.clamp(0, 1), "Only the gradient leaks.")
    factor = torch.tensor([0.1, 0.1, 1.0, 1.0, 1.0, 0.1, 0.1])
    strictly_inside = torch.tensor([0.1, 0.1, 0.1, 1.0, 0.1, 0.1, 0.1])
    x = X.clone().requires_grad_()
    (torchs,) = torch.autograd.grad(x.clamp(0, 1), x, UPSTREAM)  # its bounds differ with versions
    constants = torch.where(X > 1, 1.0, torch.where(X < 0, 0.0, UPSTREAM))
    _blame(
        grad,
        {
            f"{ASKED} [0]: yours 0.1, expected 0.3. backward ignores grad_output.": factor,
            f"{ASKED} [2]: yours 0.05, expected 0.5. The two bounds count as inside.": (
                strictly_inside * UPSTREAM
            ),
            f"{ASKED} [0]: yours 0, expected 0.3. Nothing leaks: is it torch's own gradient?": (
                torchs
            ),
            f"{ASKED} [5]: yours 1, expected 0.7. Outside, yours is a constant.": constants,
            f"{ASKED} [0]: yours 3, expected 0.3. Outside, a tenth is asked for.": UPSTREAM,
        },
    )
    compare(ASKED, grad, factor * UPSTREAM)


def _check_weighted_round(answer):
    x = X + 0.3
    value, (grad_x, grad_weight) = _gradients(answer, x, WEIGHT)
    compare("value", value, x.round() * WEIGHT)
    if grad_x is None or grad_weight is None:
        missing = "x" if grad_x is None else "weight"
        raise Wrong(f"gradient of {missing}: yours None, expected a tensor: one for each input.")
    right_x, right_weight = UPSTREAM * WEIGHT, UPSTREAM * x.round()
    if torch.allclose(grad_x, right_weight) and torch.allclose(grad_weight, right_x):
        raise Wrong("the two gradients are swapped: return them in the order of forward's inputs.")
    _blame(
        grad_x,
        {
            "gradient of x: yours ignores grad_output.": WEIGHT,
            "gradient of x: yours lacks the factor weight.": UPSTREAM,
            "gradient of x: yours 0, round's own gradient; straight-through hands it on.": 0 * x,
        },
    )
    _blame(
        grad_weight,
        {
            "gradient of weight: yours ignores grad_output.": x.round(),
            "gradient of weight: yours uses x, but weight was multiplied by round(x).": (
                UPSTREAM * x
            ),
        },
    )
    asked = "for grad_output = [3, -2, 0.5, 4, -5, 7, -6],"
    compare(f"gradient of x {asked}", grad_x, right_x, f"x is {_list(x)}.")
    compare(f"gradient of weight {asked}", grad_weight, right_weight, f"x is {_list(x)}.")


def _check_repaired_square(answer):
    value, (grad,) = _gradients(answer, X)
    compare(f"value at {POINTS}", value, X**2)
    _blame(
        grad,
        {
            f"{ASKED} [0]: yours -2, expected -6. backward ignores grad_output.": 2 * X,
            f"{ASKED} [0]: yours 3, expected -6. The factor 2 * x is lost.": UPSTREAM,
            f"{ASKED} [0]: yours -3, expected -6. The factor 2 is lost.": X * UPSTREAM,
        },
    )
    compare(ASKED, grad, 2 * X * UPSTREAM)
    double = X.double().requires_grad_()
    if not torch.autograd.gradgradcheck(answer, (double,), raise_exception=False):
        raise Wrong(
            "the second derivative is wrong: backward has to compute with the saved x itself, not "
            "with a detached copy, a number, or something computed in forward."
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
            "`backward` needs to know where x was: save it with `ctx.save_for_backward(x)`.",
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
        "`x.round() * weight`. Rounding counts as straight-through: the gradient with respect to "
        "`x` is "
        "`grad_output * weight`. The gradient with respect to `weight` is the ordinary one.",
        (
            "`backward` returns one gradient for each input of forward, in the same order.",
            "Save `weight` and `x`, and round again in `backward`: `weight` was multiplied by the "
            "rounded x.",
        ),
        _check_weighted_round,
        "One gradient for each input, in order.",
    ),
    Exercise(
        "04.3",
        "A backward that does not listen",
        5,
        "`ForgetfulSquare`, in the cell below, returns `2 * x`, whatever `grad_output` is. Repair "
        "it: write "
        "`repaired_square(x)` with the right gradient for every upstream gradient. Its second "
        "derivative has to be right, too.",
        (
            "The chain rule multiplies: local derivative times `grad_output`.",
            "If the class saves x and computes `2 * x * grad_output` with ordinary operations, "
            "the second derivative comes for free.",
        ),
        _check_repaired_square,
        "Linear in grad_output, as every backward has to be.",
    ),
)
