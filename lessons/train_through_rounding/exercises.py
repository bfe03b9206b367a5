"""Checks on training through rounding: a quantizer with three bugs, and the last bin."""

import torch
import torch.nn.functional as F

from autograd_surprises.recording.patches import Patches
from helpers import functions
from lessons.asking.answers import expect_close
from lessons.asking.difference_figure import draw_against
from lessons.asking.pointwise import (
    UPSTREAM,
    expect_also,
    expect_each,
    gradients_for,
    run_on_leaves,
)
from lessons.asking.registry import Wrong, check_of
from lessons.digits import Run, accuracy, train

LOW, HIGH, SCALE = -2, 1, 0.25
RANGE = -0.9, 0.7  # to draw
ENOUGH = 80  # % of the held-out digits; with a bug left in it is 65 at most, without 90 at least
X = torch.tensor([-0.9, -0.3, -0.1, 0.1, 0.2, 0.9])


def _quantized(x, step, low, high):
    step = functions.scale_gradient(step, (x.numel() * high) ** -0.5)
    bins = functions.round_ste(x / step)
    return functions.clamp(bins, low, high, bound_gradient=1) * step


def _run(quantize):
    return run_on_leaves(quantize, X, torch.tensor(SCALE), rest=(LOW, HIGH))


def _with_step(quantize):
    return lambda x: quantize(x, torch.tensor(SCALE), LOW, HIGH)


@check_of(
    "train_through_rounding.1",
    "It learns its weights and its scale.",
    draw_wrong=draw_against(_with_step(_quantized), RANGE, of=_with_step),
)
def check_repaired(answer):
    x, step, y = _run(answer)
    expect_each("value", X, y, (X / SCALE).round().clamp(LOW, HIGH) * SCALE)
    of_x, of_step = gradients_for(UPSTREAM, y, x, step) if y.requires_grad else (None, None)
    if of_x is None or not of_x.any():
        raise Wrong(
            f"gradient with respect to x: yours {'None' if of_x is None else '0 everywhere'}. "
            "Detach nothing, and round with a straight-through estimator."
        )
    inside = torch.tensor([0.0, 1, 1, 1, 1, 0])
    why = "Outside the range it is 0. At the bound of your clamp it is not: bound_gradient=1."
    expect_each("gradient with respect to x", X, of_x, inside * UPSTREAM[: len(X)], why)
    if of_step is None:
        raise Wrong(
            "gradient with respect to step: yours None, expected a number. The step is detached."
        )
    x, step, y = _run(_quantized)
    _, right = gradients_for(UPSTREAM, y, x, step)
    why = "It goes through both places where step is used, and through scale_gradient once."
    expect_close("gradient with respect to step", of_step, right, why=why)
    more = torch.stack([2 * X, 5 * X.flip(0)]).double(), torch.tensor(0.5).double()
    expect_also(answer, _quantized, *more, names=("x", "step"), rest=(-4, 3))
    percent = accuracy(train(Run(answer, scale_factor=0.25, learns_scale=True)))
    if percent < ENOUGH:
        raise Wrong(
            f"held-out digits read right: yours {percent:.0f} %, expected {ENOUGH} or more."
        )


def _whole(x, scale=SCALE, low=LOW, high=HIGH, clamp=None):
    bins = (x / scale).round()
    inside = (bins >= low) & (bins <= high)
    return functions.value_with_gradient_of(bins.clamp(low, high) * scale, x.where(inside, 0 * x))


def _with_clamp(quantize):
    def quantized(x):
        with CLAMP_OF_2_14:
            return quantize(x, SCALE, LOW, HIGH, _since_2_14)

    return quantized


def _since_2_14(x, min, max):
    return F.hardtanh(x, min, max)  # gradient 0 at a bound


def _around_clamp(clamp, active):
    return lambda *args, **kwargs: (_since_2_14 if active else clamp)(*args, **kwargs)


# So that the verdict is the same with every version of torch.
CLAMP_OF_2_14 = Patches((torch, "clamp", _around_clamp), (torch.Tensor, "clamp", _around_clamp))


@check_of(
    "train_through_rounding.2",
    "Whole bins, with every version of torch.",
    draw_wrong=draw_against(_whole, RANGE, of=_with_clamp),
)
def check_whole_bins(answer):
    # inside the middle bins, at their centres, in the outer half of the last ones, and beyond
    bins = torch.tensor([-0.9, 0.0, 0.4, -1.6, 1.0, -2.0, 1.45, -2.45, 1.6, -2.6, 2.0, -3.0])
    slope = torch.tensor([1.0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0])
    with CLAMP_OF_2_14:
        x, y = run_on_leaves(answer, bins * SCALE, rest=(SCALE, LOW, HIGH, _since_2_14))
    value = bins.round().clamp(LOW, HIGH) * SCALE
    why = "A clamp after rounding, or a little before the edge, keeps it in the range."
    expect_each("value", bins, y, value, why, at="x / scale")
    (gradient,) = gradients_for(UPSTREAM, y, x)
    flat = "It is 0 everywhere: round with a straight-through estimator."
    why = _why_bin if gradient.any() else flat
    at = {"upstream": UPSTREAM, "at": "x / scale"}
    expect_each("gradient", bins, gradient, slope * UPSTREAM, why, **at)
    bins = torch.tensor([[-0.9, 3.45, -4.6], [2.6, -4.45, 4.0], [-3.9, 3.6, -4.0]]).double()
    with CLAMP_OF_2_14:
        expect_also(answer, _whole, bins * 0.5, rest=(0.5, -4, 3, _since_2_14))


def _why_bin(place):
    if not LOW - 0.5 < place < HIGH + 0.5:
        return "It is outside the range, where the value does not change."
    if abs(place + 1.6) < 1e-6:
        return "It rounds to -2, so it is exactly at the bound of a clamp that comes after."
    return "The outermost bin extends half a bin beyond its centre."
