"""Checks on operators of torch.library."""

import math

import torch

from lessons.asking.answers import as_number
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
from lessons.asking.registry import NotDone, Wrong, check_of
from lessons.custom_operators.registered_operators import OPERATORS, slope_of_arctangent

X = torch.tensor([-3.0, -1.5, -0.25, 0.0, 0.5, 2.0])
WRONG = "third"
NOT_WRONG = {
    "first": "nothing was registered for the compiler, but its gradient is right.",
    "second": "its fake has the wrong shape, which opcheck finds, but its gradient is right.",
    "fourth": "all that is registered is right. What its card still says is true of all operators.",
}


def _softsign(x):
    return x / (1 + x.abs())


@check_of(
    "custom_operators.1",
    "An operator with the gradient of softsign, at both signs of x.",
    draw_wrong=draw_against(_softsign, (-3.0, 3.0)),
)
def check_softsign_operator(answer):
    x, y = run_on_leaves(answer, X)
    expect_each("value", X, y, _softsign(X))
    size = 1 + X.abs()
    mistakes = {
        "The slope is 1 / (1 + |x|) ** 2: the square is missing.": 1 / size,
        "Below 0 the slope needs |x|, not x.": 1 / (1 + X) ** 2,
        "That is the gradient of x itself.": torch.ones(len(X)),
        "That is the slope at y: save the input, not the output.": 1
        / (1 + _softsign(X).abs()) ** 2,
    }
    expect_slope("gradient", X, _gradient(x, y), 1 / size**2, mistakes)
    if not any(name.startswith("GeneratedBackwardFor") for name in own_functions(y)):
        raise Wrong(
            "value and gradient are right, but they do not come from an operator. Call the "
            "operator, and register its backward."
        )
    expect_also(answer, _softsign, torch.cat([X, X / 2]).reshape(3, 4).double())


def _gradient(x, y):
    try:
        (gradient,) = gradients_for(UPSTREAM, y, x)
    except (IndexError, ValueError):
        raise Wrong(
            "the value is right, but backward found nothing in ctx.saved_tensors: pass "
            "setup_context to register_autograd."
        ) from None
    except RuntimeError as error:
        if "no autograd formula" not in str(error):
            raise
        raise Wrong(
            "the value is right, but the operator has no backward: register one with "
            "register_autograd."
        ) from None
    return gradient


@check_of("custom_operators.2", "Found: only its slope shows it. opcheck has nothing against it.")
def check_wrong_operator(answer):
    if answer is ... or (isinstance(answer, tuple) and ... in answer):
        raise NotDone
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise Wrong("needs three things: the name of an operator, a number x, and a gradient.")
    name, at, gradient = answer
    if name not in OPERATORS:
        raise Wrong(f"needs the name of an operator, one of {', '.join(OPERATORS)}; got {name!r}.")
    if name != WRONG:
        raise Wrong(f"the operator {name!r}: {NOT_WRONG[name]}")
    x = torch.tensor(as_number(at, "x: "), dtype=torch.float64)
    yours = as_number(gradient, "gradient: ")
    right = slope_of_arctangent(x).item()
    leaf = x.clone().requires_grad_()
    returned = torch.autograd.grad(OPERATORS[name](leaf), leaf)[0].item()
    if math.isclose(returned, right, abs_tol=1e-3):
        raise Wrong(f"at x = {at:g} the gradient of {name!r} is right: take another x.")
    if not math.isclose(yours, right, abs_tol=5e-3):
        why = (
            "That is what its backward returns."
            if math.isclose(yours, returned, abs_tol=5e-3)
            else "It is the slope, for grad_output = 1, to two decimals."
        )
        raise Wrong(
            f"the right gradient at x = {at:g}: yours {yours:.4g}, expected {right:.4g}.", why
        )
