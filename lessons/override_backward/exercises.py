"""Checks on writing a backward."""

import torch

from helpers.functions import round_ste, value_with_gradient_of
from lessons.asking.difference_figure import draw_against
from lessons.asking.pointwise import (
    UPSTREAM,
    expect_also,
    expect_each,
    expect_slope,
    gradients_for,
    own_functions,
    run_on_leaves,
)
from lessons.asking.registry import Wrong, check_of

X = torch.tensor([-1.0, -0.1, 0.0, 0.5, 1.0, 1.1, 2.0])
TABLE = torch.stack([X, X.flip(0)]).double()  # another shape and dtype
RANGE = -1.5, 2.5  # to draw
WEIGHT = torch.tensor([2.0, 3.0, -1.0, 0.5, 4.0, -2.0, 6.0])


def _leaky(x):
    leaks = torch.where((x >= 0) & (x <= 1), x, 0.1 * x)
    return value_with_gradient_of(x.clamp(0, 1), leaks)


@check_of(
    "override_backward.1",
    "The values are clamped, and inputs outside can come back.",
    draw_wrong=draw_against(_leaky, RANGE),
)
def check_leaky_clamp(answer):
    x, y = run_on_leaves(answer, X)
    expect_each("value", X, y, X.clamp(0, 1), "Only the gradient leaks.")
    (gradient,) = gradients_for(UPSTREAM, y, x)
    slope = torch.where((X >= 0) & (X <= 1), 1.0, 0.1)
    (torchs,) = torch.autograd.grad(x.clamp(0, 1).sum(), x)  # its bounds differ with versions
    upstream = UPSTREAM[: len(X)]
    tenth = torch.where((X < 0) | (X > 1), 0.1, upstream)
    mistakes = {
        "The two bounds count as inside.": torch.where((X > 0) & (X < 1), 1.0, 0.1),
        "Nothing leaks: is it torch's own gradient?": torchs,
        "Outside, yours is the number 0.1 alone: you dropped grad_output.": tenth / upstream,
        "Outside, a tenth of grad_output is asked for.": torch.ones(len(X)),
    }
    expect_slope("gradient", X, gradient, slope, mistakes)
    expect_also(answer, _leaky, TABLE)


def _weighted(x, weight):
    return round_ste(x) * weight


@check_of("override_backward.2", "One gradient for each input, in order.")
def check_weighted_round(answer):
    numbers = X + 0.3
    x, weight, y = run_on_leaves(answer, numbers, WEIGHT)
    expect_each("value", numbers, y, numbers.round() * WEIGHT)
    of_x, of_weight = gradients_for(UPSTREAM, y, x, weight)
    if of_x is None or of_weight is None:
        missing = "x" if of_x is None else "weight"
        raise Wrong(
            f"gradient with respect to {missing}: yours None, expected a tensor: one for each "
            "input."
        )
    rounded, upstream = numbers.round(), UPSTREAM[: len(X)]
    if torch.allclose(of_x, upstream * rounded) and torch.allclose(of_weight, upstream * WEIGHT):
        raise Wrong("the two gradients are swapped: return them in the order of forward's inputs.")
    mistakes = {
        "The factor weight is missing.": torch.ones(len(X)),
        "That is round's own gradient; a straight-through estimator passes grad_output on.": 0 * X,
    }
    expect_slope("gradient with respect to x", numbers, of_x, WEIGHT, mistakes)
    mistakes = {"Yours uses x, but weight was multiplied by round(x).": numbers}
    expect_slope("gradient with respect to weight", numbers, of_weight, rounded, mistakes)
    more = TABLE + 0.3, torch.stack([WEIGHT.flip(0), WEIGHT]).double()
    expect_also(answer, _weighted, *more, names=("x", "weight"))


@check_of(
    "override_backward.3",
    "Linear in grad_output, as every backward has to be.",
    draw_wrong=draw_against(torch.square, RANGE),
)
def check_repaired_square(answer):
    x, y = run_on_leaves(answer, X)
    expect_each("value", X, y, X**2)
    (gradient,) = gradients_for(UPSTREAM, y, x)
    mistakes = {"The factor 2 * x is lost.": torch.ones(len(X)), "The factor 2 is lost.": X}
    expect_slope("gradient", X, gradient, 2 * X, mistakes)
    expect_also(answer, torch.square, TABLE)
    double = X.double().requires_grad_()
    if not torch.autograd.gradgradcheck(answer, (double,), raise_exception=False):
        raise Wrong(
            "the second derivative is wrong: backward has to compute with the saved x itself, not "
            "with a detached copy, a number, or something computed in forward."
        )
    if not own_functions(y):
        raise Wrong(
            "the gradient is right, but it is that of torch's own operations: repair the backward "
            "of `ForgetfulSquare`, and pass the class's `.apply`."
        )
