"""Checks on the report card, and on a gradient without a class."""

import torch

from autograd_surprises.report_card import report_card
from helpers.functions import value_with_gradient_of
from lessons.asking.answers import expect_close
from lessons.asking.bug_hunt import CallRecorder
from lessons.asking.difference_figure import draw_against
from lessons.asking.pointwise import (
    UPSTREAM,
    bytes_kept,
    expect_also,
    expect_each,
    expect_slope,
    gradients_for,
    own_functions,
    run_on_leaves,
)
from lessons.asking.registry import Wrong, check_of

X = torch.tensor([-2.0, -1.25, -1.0, -0.5, 0.0, 0.3, 1.0, 1.75, 3.0])
MORE = torch.cat([X.flip(0), X / 2]).double()
RANGE = -3.0, 3.0  # to draw
LARGE = torch.tensor([300.0, -300.0, 1e8, -1e8, 1e30, -1e30])
INFINITE = torch.tensor([torch.inf, -torch.inf])
FORWARD_MODE = ("jvp", "jacfwd(jacfwd)", "hessian")
REMEDIES = {  # where this exercise knows more than the card
    ("slope", "silently wrong"): "the factor of grad_output has to be the slope of the value",
    ("double backward", "silently wrong"): "let backward compute the slope from the saved x "
    "itself, without @once_differentiable; what setup_context computed, a detached x or a number "
    "is a constant to autograd",
}


def _gate(x, factor=1.702):
    return x * torch.sigmoid(factor * x)


@check_of(
    "the_report_card.1",
    "Every required row is fine, and only x is kept.",
    draw_wrong=draw_against(_gate, RANGE),
)
def check_repaired_gate(answer):
    x, y = run_on_leaves(answer, X)
    expect_each("value", X, y, _gate(X), mistakes={"The 1.702 is missing.": _gate(X, 1.0)})
    for row in report_card(answer, torch.linspace(-3, 3, 7)).rows:
        refused = row.status == "refused" and row.name in FORWARD_MODE
        asked = not refused and row.name != "jacfwd(jacfwd)"  # where torch itself is wrong
        if asked and not row.fine:
            raise Wrong(_in_a_line(row))
    expect_also(answer, _gate, MORE)
    kept = bytes_kept(answer)
    if kept > 4:
        raise Wrong(
            f"kept for backward: yours {kept:g} bytes for each number, expected 4, those of x. "
            "Compute the rest again in backward, from x."
        )


def _in_a_line(row):
    """Place, yours, expected and remedy; of torch's message the first sentence."""
    numbers = f": yours {row.yours}, expected {row.expected}" if row.yours else ""
    message = row.message.partition(". ")[0]
    remedy = REMEDIES.get((row.name, row.status), row.remedy)
    remedy = f" What to change: {remedy}." if remedy else ""
    return f"the row {row.name!r} is {row.status}: {message}{numbers}.{remedy}"


def _step(x):
    return (x >= 0).to(x.dtype)


def _step_like_relu(x):
    return value_with_gradient_of(_step(x), torch.relu(x))


@check_of(
    "the_report_card.2",
    "Exact for every number, in reverse and in forward mode.",
    draw_wrong=draw_against(_step_like_relu, RANGE),
)
def check_step_like_relu(answer):
    rounded = "The 1 is rounded away beside a number as large as x: avoid that detour."
    not_a_number = "inf - inf is NaN: avoid the detour over a number as large as x."
    extreme = ((LARGE.bfloat16(), rounded), (LARGE, rounded), (INFINITE, not_a_number))
    with CallRecorder() as calls:
        x, y = run_on_leaves(answer, X)
    mistakes = {"At 0 the step is 1: x >= 0.": (X > 0).float()}
    expect_each("value", X, y, _step(X), mistakes=mistakes)
    for given, why in extreme:
        expect_each("value", given, run_on_leaves(answer, given)[1], _step(given), why)
    try:
        (gradient,) = gradients_for(UPSTREAM, y, x)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        raise Wrong(
            "the value is right, but backward raises: relu keeps its own result for backward, and "
            "you wrote into it. Write into a copy: torch.relu(x).clone()."
        ) from None
    at_zero = "The gradient of relu at 0 is 0."
    if "data" in calls.called:
        at_zero += " Backward reads relu's own result, and .data overwrote it unseen: clone first."
    mistakes = {
        at_zero: (X >= 0).float(),
        "Autograd recorded the copy, which cuts the path to x: write into y.detach().": 0 * X,
        "That is the gradient of x itself.": torch.ones(len(X)),
    }
    expect_slope("gradient", X, gradient, (X > 0).float(), mistakes)
    for name in own_functions(y):
        raise Wrong(
            f"value and gradient are right, but they come from a class, {name}. Forward mode needs "
            "a jvp in it, and torch.compile refuses a class with a jvp. Write it without a class."
        )
    expect_also(answer, _step_like_relu, MORE)
    _expect_transforms(answer)


def _expect_transforms(answer):
    try:
        _, tangent = torch.func.jvp(answer, (X,), (UPSTREAM[: len(X)],))
        rows = torch.stack([X, X.flip(0)])
        values = torch.func.vmap(answer)(rows)
    except RuntimeError as error:
        cure = " Write into y.detach() instead." if "`data`" in str(error) else ""
        first = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise Wrong(f"torch.func refuses it: {first}.{cure}") from None
    no_grad = "torch.no_grad() hides the copy from reverse mode only: write into y.detach()."
    expect_slope("torch.func.jvp", X, tangent, (X > 0).float(), {no_grad: 0 * X})
    expect_close("torch.func.vmap, value", values, _step(rows))
