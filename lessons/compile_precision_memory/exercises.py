"""Check on the memory of your own Function."""

import torch

from helpers.functions import value_with_gradient_of
from lessons.asking.difference_figure import draw_against
from lessons.asking.pointwise import (
    UPSTREAM,
    bytes_kept,
    expect_also,
    expect_each,
    expect_slope,
    gradients_for,
    run_on_leaves,
)
from lessons.asking.registry import Wrong, check_of

X = torch.tensor([-2.0, -1.25, -1.0, -0.5, 0.0, 0.3, 1.0, 1.75, 3.0])
MORE = torch.cat([X.flip(0), X / 2]).double()
RANGE = -3.0, 3.0  # to draw


def _sign(x):
    return value_with_gradient_of(x.sign(), torch.where(x.abs() <= 1, x, 0))


@check_of(
    "compile_precision_memory.1",
    "A byte for each number, and no NaN.",
    draw_wrong=draw_against(_sign, RANGE),
)
def check_frugal_sign(answer):
    x, y = run_on_leaves(answer, X)
    mistakes = {"sign(0) is 0.": torch.where(X >= 0, 1.0, -1.0)}
    expect_each("value", X, y, X.sign(), mistakes=mistakes)
    inside = X.abs() <= 1
    (gradient,) = gradients_for(UPSTREAM, y, x)
    mistakes = {
        "The two bounds count as inside.": X.abs() < 1,
        "Outside of -1 to 1 the gradient is 0.": torch.ones(len(X)),
        "That is torch's own gradient of sign.": 0 * X,
    }
    expect_slope("gradient", X, gradient, inside.float(), mistakes)
    infinite = torch.inf * UPSTREAM[: len(X)].sign()
    (gradient,) = gradients_for(infinite, y, x)
    why = "0 · inf is NaN: choose with torch.where(inside, grad_output, 0) instead of a product."
    right = torch.where(inside, infinite, 0.0)
    expect_each("gradient", X, gradient, right, why, upstream=infinite)
    expect_also(answer, _sign, MORE)
    kept = bytes_kept(answer)
    if kept > 1:
        raise Wrong(
            f"kept for backward: yours {kept:g} bytes for each number, expected 1.",
            "A bool is enough, and x.abs() <= 1 is a tensor of bools.",
        )
    if kept == 0:
        raise Wrong(
            "kept for backward: yours 0 bytes for each number, expected 1.",
            "The mask is hidden in an attribute of ctx or elsewhere, so torch does not notice if "
            "it is overwritten, and saved_tensors cannot measure it. Pass it to "
            "ctx.save_for_backward.",
        )
