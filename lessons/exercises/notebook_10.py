"""Exercises on what your own gradient survives: report card, memory, and no class."""

import torch

from autograd_surprises.report_card import report_card
from helpers.functions import value_with_gradient_of
from lessons.exercises.answers import expect_close
from lessons.exercises.bug_hunt import CallRecorder
from lessons.exercises.exercise import Exercise, Wrong
from lessons.exercises.pointwise import (
    UPSTREAM,
    bytes_kept,
    draw_against,
    expect_also,
    expect_each,
    expect_slope,
    gradients_for,
    own_functions,
    run_on_leaves,
)

X = torch.tensor([-2.0, -1.25, -1.0, -0.5, 0.0, 0.3, 1.0, 1.75, 3.0])
MORE = torch.cat([X.flip(0), X / 2]).double()
RANGE = -3.0, 3.0  # to draw
LARGE = torch.tensor([300.0, -300.0, 1e8, -1e8, 1e30, -1e30])
INFINITE = torch.tensor([torch.inf, -torch.inf])
FORWARD_MODE = ("jvp", "jacfwd(jacfwd)", "jacfwd", "hessian")
REMEDIES = {  # where this exercise knows more than the card
    ("slope", "silently wrong"): "the factor of grad_output has to be the slope of the value",
    ("double backward", "silently wrong"): (
        "let backward compute the slope from the saved x itself, without @once_differentiable; "
        "what setup_context computed, a detached x or a number is a constant to autograd"
    ),
}


def _gate(x, factor=1.702):
    return x * torch.sigmoid(factor * x)


def _check_repaired_gate(answer):
    x, y = run_on_leaves(answer, X)
    mistakes = {
        "The 1.702 is missing.": _gate(X, 1.0),
        "The factor x is missing.": torch.sigmoid(1.702 * X),
    }
    expect_each("value", X, y, _gate(X), mistakes=mistakes)
    for row in report_card(answer, torch.linspace(-3, 3, 7)).rows:
        refused = row.status == "refused" and row.name in FORWARD_MODE
        asked = not refused and row.name != "jacfwd(jacfwd)"  # where torch itself is wrong
        if asked and not row.fine:
            raise Wrong(_in_a_line(row))
    expect_also(answer, _gate, MORE)
    kept, x_is_kept = bytes_kept(answer)
    own = kept - 4 * x_is_kept
    if own > 0:
        raise Wrong(
            f"kept for backward beside x: yours {own:g} bytes for each number, expected 0. Compute "
            "it again in backward, from x."
        )


def _in_a_line(row):
    """Place, yours, expected and remedy; of torch's message the first sentence."""
    numbers = f": yours {row.yours}, expected {row.expected}" if row.yours else ""
    story = row.message.partition(". ")[0] + numbers
    remedy = REMEDIES.get((row.name, row.status), row.remedy)
    remedy = f" What to change: {remedy}." if remedy else ""
    return f"the row {row.name!r} is {row.status}: {story}.{remedy}"


def _check_frugal_sign(answer):
    x, y = run_on_leaves(answer, X)
    mistakes = {"sign(0) is 0.": torch.where(X >= 0, 1.0, -1.0)}
    expect_each("value", X, y, X.sign(), mistakes=mistakes)
    inside = X.abs() <= 1
    (gradient,) = gradients_for(UPSTREAM, y, x)
    mistakes = {
        "The two bounds count as inside.": X.abs() < 1,
        "It is the other way round: grad_output inside, 0 outside.": X.abs() > 1,
        "Only one of the two sides is cut.": X <= 1,
        "Outside of -1 to 1 the gradient is 0.": torch.ones(len(X)),
        "That is torch's own gradient of sign.": 0 * X,
    }
    expect_slope("gradient", X, gradient, inside.float(), mistakes)
    infinite = torch.inf * UPSTREAM[: len(X)].sign()
    expect_each(
        "gradient",
        X,
        *gradients_for(infinite, y, x),
        torch.where(inside, infinite, 0.0),
        "0 · inf is NaN: choose with torch.where(inside, grad_output, 0) instead of a product.",
        upstream=infinite,
    )
    expect_also(answer, _sign, MORE)
    kept, x_is_kept = bytes_kept(answer)
    if kept > 1:
        what = "x itself is kept" if x_is_kept else "what is kept is not a tensor of bools"
        raise Wrong(
            f"kept for backward: yours {kept:g} bytes for each number, expected 1: {what}. A bool "
            "is enough, and x.abs() <= 1 is a tensor of bools."
        )
    if kept == 0:
        raise Wrong(
            "kept for backward: yours 0 bytes for each number, expected 1. The mask is hidden in "
            "an attribute of ctx or elsewhere, so torch does not notice if it is overwritten, and "
            "saved_tensors cannot measure it. Pass it to ctx.save_for_backward."
        )


def _sign(x):
    return value_with_gradient_of(x.sign(), torch.where(x.abs() <= 1, x, 0))


def _check_step_like_relu(answer):
    rounded = "The 1 is rounded away beside a number as large as x: avoid that detour."
    not_a_number = "inf - inf is NaN: avoid the detour over a number as large as x."
    extreme = ((LARGE.bfloat16(), rounded), (LARGE, rounded), (INFINITE, not_a_number))
    with CallRecorder() as calls:
        x, y = run_on_leaves(answer, X)
    mistakes = {"At 0 the step is 1: x >= 0.": (X > 0).float()}
    expect_each("value", X, y, _step(X), mistakes=mistakes)
    for given, why in ((X.double(), ""), *extreme):
        expect_each("value", given, run_on_leaves(answer, given)[1], _step(given), why)
    at_zero = "The gradient of relu at 0 is 0."
    if "data" in calls.called:
        at_zero += " Backward reads relu's own result, and .data overwrote it unseen: clone first."
    mistakes = {
        at_zero: (X >= 0).float(),
        "Autograd recorded the copy, which cuts the path to x: write into y.detach().": 0 * X,
        "That is the gradient of x itself.": torch.ones(len(X)),
        "That is the gradient of the sigmoid.": torch.sigmoid(X) * (1 - torch.sigmoid(X)),
    }
    expect_slope("gradient", X, _relu_gradient(x, y), (X > 0).float(), mistakes)
    for given, _ in extreme:
        gradient = _relu_gradient(*run_on_leaves(answer, given))
        expected = torch.where(given > 0, UPSTREAM[: len(given)].to(given.dtype), 0)
        expect_each("gradient", given, gradient, expected)
    _refuse_function(y)
    expect_also(answer, lambda x: value_with_gradient_of(_step(x), torch.relu(x)), MORE)
    _check_transforms(answer)


def _step(x):
    return (x >= 0).to(x.dtype)


def _relu_gradient(x, y):
    try:
        (gradient,) = gradients_for(UPSTREAM, y, x)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        raise Wrong(
            "the value is right, but backward raises: relu keeps its own result for backward, and "
            "you wrote into it. Write into a copy: torch.relu(x).clone()."
        ) from None
    if gradient is None:
        raise Wrong("the value is right, but no path leads from the result back to x.")
    return gradient


def _refuse_function(y):
    for name in own_functions(y):
        raise Wrong(
            f"value and gradient are right, but they come from a class, {name}. Forward mode needs "
            "a jvp in it, and torch.compile refuses a class with a jvp. Write it without a class."
        )


def _check_transforms(answer):
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


EXERCISES = (
    Exercise(
        "10.1",
        "Repair it by its report card",
        10,
        "`Gate`, in the cell below, has the value `x * torch.sigmoid(1.702 * x)` and its gradient. "
        "It keeps one tensor for backward; plain autograd keeps two. But it has three faults. Find "
        "them with `report_card(Gate.apply, torch.linspace(-3, 3, 7))`, and write "
        "`repaired_gate(x)`. It keeps only x for backward, and every row of its card is fine, "
        "except those of forward mode: `jvp`, `jacfwd`, `hessian` and `jacfwd(jacfwd)`. `check` "
        "names the first row that is not fine. Read the card again after each repair, because one "
        "fault can hide another.",
        (
            "One row at a time: read its remedy, repair, and run the card again.",
            "`a.mul_(b)` writes into `a`, and `grad_output` belongs to others. `a * b` is a new "
            "tensor.",
            "To autograd, what `setup_context` computed is a constant. Save only x, and compute "
            "the sigmoid in `backward`.",
            "The third fault is a missing line: `generate_vmap_rule = True`.",
        ),
        _check_repaired_gate,
        "Every required row is fine, and only x is kept.",
        draw_against(_gate, RANGE),
    ),
    Exercise(
        "10.2",
        "One byte",
        5,
        "`CostlySign`, in the cell below, has the value of `torch.sign(x)` and the gradient "
        "`grad_output` where |x| ≤ 1, else 0. For that it keeps x: four bytes for each number, "
        "even when nothing else needs x any more. Write `frugal_sign(x)` with the same value and "
        "gradient, also for an infinite `grad_output`, that keeps one byte for each number. To "
        "measure, call it inside `with saved_tensors() as saved:`, and read `saved.bytes` while "
        "the result is still there.",
        (
            "What does `backward` have to know about each number? Less than the number.",
            "`x.abs() <= 1` is a tensor of bools, a byte each. `setup_context` can make and save "
            "it.",
            "`backward` gets it from `ctx.saved_tensors`. `torch.where(inside, grad_output, 0)` is "
            "right also where `grad_output` is infinite; a product returns NaN.",
        ),
        _check_frugal_sign,
        "A byte for each number, and no NaN.",
        draw_against(_sign, RANGE),
    ),
    Exercise(
        "10.3",
        "Without a Function",
        5,
        "Write `step_like_relu(x)` in plain torch, without a class. Its value is 1 where x ≥ 0, "
        "else 0. Its gradient is that of `torch.relu(x)`: `grad_output` where x > 0, else 0. ([Yin "
        "et al. 2019](https://arxiv.org/abs/1903.05662) train binary activations with it.) The "
        "value is exact for every number, including 300 in bfloat16 and infinity, and "
        "`torch.func.jvp` and `torch.func.vmap` work. (`value_with_gradient_of` would do it; write "
        "it without that function.)",
        (
            "You want the numbers of one tensor and the graph of another. The one-line trick `t + "
            "(step - t).detach()` has both, but its value goes through a sum that rounds.",
            "`y.detach()` is the memory of `y`, unseen by autograd in every mode. What you write "
            "into it with `copy_` is the value of `y`.",
            "Let `y` be `torch.relu(x).clone()`: relu keeps its own result for backward, so do not "
            "overwrite it.",
        ),
        _check_step_like_relu,
        "Exact for every number, in reverse and in forward mode.",
        draw_against(lambda x: value_with_gradient_of(_step(x), torch.relu(x)), RANGE),
    ),
)
