"""Exercises on training through rounding: a quantizer with three bugs, and the last bin."""

from unittest import mock

import torch
import torch.nn.functional as F

from helpers import functions
from helpers.lessons.digits import Run, accuracy, train
from helpers.lessons.exercises.exercise import Exercise, Wrong, call, compare

LOW, HIGH, SCALE = -2, 1, 0.25
ENOUGH = 80  # % of the held-out digits; with a bug left in it is 65 at most, without 92 at least


def _gradients(answer, x, step):
    y = call(answer, x, step, LOW, HIGH)
    if not isinstance(y, torch.Tensor) or y.shape != x.shape:
        raise Wrong(f"yours returns {type(y).__name__}, expected a tensor of the shape of x.")
    expected = (x / step).round().clamp(LOW, HIGH) * step
    compare(
        f"value at x = {[round(v, 2) for v in x.tolist()]}, step {SCALE}",
        y.detach(),
        expected.detach(),
    )
    if not y.requires_grad:
        return None, None
    weights = torch.arange(1.0, len(x) + 1)
    return torch.autograd.grad(y, (x, step), weights, allow_unused=True)


def _check_repaired(answer):
    x = torch.tensor([-0.9, -0.3, -0.1, 0.1, 0.2, 0.9], requires_grad=True)
    step = torch.tensor(SCALE, requires_grad=True)
    of_x, of_step = _gradients(answer, x, step)
    if of_x is None:
        raise Wrong("gradient of x: yours None, expected a tensor. Something detaches x.")
    if not of_x.any():
        raise Wrong("gradient of x: yours 0 everywhere. Round with a straight-through estimator.")
    if of_x[0] or of_x[-1]:
        raise Wrong(
            "gradient of x outside the range: yours "
            f"{[of_x[0].item(), of_x[-1].item()]}, expected 0: there the value does not change."
        )
    if not of_x[1:5].all():
        raise Wrong(
            f"gradient of x in the outermost bins: yours {of_x[1:5].tolist()}, expected "
            "[2.0, 3.0, 4.0, 5.0]. They are at the bound of your clamp: bound_gradient=1."
        )
    if of_step is None:
        raise Wrong("gradient of step: yours None, expected a number. The step is detached.")
    _, want = _gradients(_reference, x, step)
    if abs(of_step - want) > 1e-4 * abs(want):
        raise Wrong(
            f"gradient of step: yours is {(of_step / want).item():.3g} times the expected one. "
            "It goes through both places where step is used, and through scale_gradient once."
        )
    percent = accuracy(train(Run(answer, scale_factor=0.25, learns_scale=True)))
    if percent < ENOUGH:
        raise Wrong(
            f"held-out digits read right: yours {percent:.0f} %, expected {ENOUGH} or more."
        )


def _reference(x, step, low, high):
    step = functions.scale_gradient(step, (x.numel() * high) ** -0.5)
    bins = functions.round_ste(x / step)
    return functions.clamp(bins, low, high, bound_gradient=1) * step


def _since_2_14(x, min, max):
    return F.hardtanh(x, min, max)  # gradient 0 at a bound


def _check_whole_bins(answer):
    # inside the middle bins, at their centres, in the outer half of the last ones, and beyond
    bins = torch.tensor([-0.9, 0.0, 0.4, -1.6, 1.0, -2.0, 1.45, -2.45, 1.6, -2.6, 2.0, -3.0])
    inside = torch.tensor([1.0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0])
    x = (bins * SCALE).requires_grad_()
    with (  # so that the answer is judged in the same way by every version of torch
        mock.patch.object(torch, "clamp", _since_2_14),
        mock.patch.object(torch.Tensor, "clamp", _since_2_14),
    ):
        y = call(answer, x, SCALE, LOW, HIGH, _since_2_14)
    if not isinstance(y, torch.Tensor) or y.shape != x.shape:
        raise Wrong(f"yours returns {type(y).__name__}, expected a tensor of the shape of x.")
    expected = bins.round().clamp(LOW, HIGH) * SCALE
    for place, yours, wanted in zip(bins, y.detach(), expected, strict=True):
        if abs(yours - wanted) > 1e-6:
            why = ""
            if not LOW * SCALE <= yours <= HIGH * SCALE:
                why = " It rounds to a bin outside the range: stay a little inside."
            raise Wrong(
                f"value at x / scale = {place:g}: yours {yours:.6g}, expected {wanted:g}.{why}"
            )
    if not y.requires_grad:
        raise Wrong("the result has no graph: something detaches x.")
    (gradient,) = torch.autograd.grad(y.sum(), x)
    for place, yours, expected in zip(bins, gradient, inside, strict=True):
        if yours == expected:
            continue
        why = "It rounds to a bin of the range, so it has to learn."
        if not gradient.any():
            why = "It is 0 everywhere: round with a straight-through estimator."
        elif expected == 0:
            why = "It is outside the range, where the value does not change."
        elif place == -1.6:
            why = "It rounds to -2, and so is exactly at the bound of a clamp that comes after."
        elif place in (LOW, HIGH):
            why = "It is exactly at the bound of your clamp."
        elif not LOW <= place <= HIGH:
            why = "The outermost bin goes on for half a bin beyond its centre."
        raise Wrong(
            f"gradient at x / scale = {place:g}: yours {yours:g}, expected {expected:g}. {why}"
        )


EXERCISES = (
    Exercise(
        "07.1",
        "A quantizer that does not learn",
        8,
        "`broken`, in the cell below, rounds the weights and the inputs of a network, and should "
        "learn its step, too. It has three bugs. Write `repaired` with the same value. `check` "
        "looks at its gradients, trains a network of 2 bits with it, from a quarter of the good "
        f"scale, and wants at least {ENOUGH} % of the held-out digits.",
        (
            "Ask for the gradients of `broken(x, step, -2, 1).sum()`, for an x and a step that "
            "require one.",
            "`scale_gradient` is no bug: keep it. And clamp as it does, with `bound_gradient=1`.",
            "Two `detach` have to go, and `round` needs another operation in its place.",
        ),
        _check_repaired,
        "It learns its weights and its scale.",
    ),
    Exercise(
        "07.2",
        "The whole of the last bin",
        6,
        "Write `whole_bins(x, scale, low, high, clamp)`, a quantizer with the value `clamp(round(x "
        "/ scale), low, high) * scale`, whose gradient is 1 wherever x rounds to a bin of the "
        "range, and 0 outside. `clamp` is handed in, `clamp(x, low, high)`, and does what "
        "torch.clamp does since 2.14: its gradient at a bound is 0. `round_ste` may be used; other "
        "operators of helpers may not. (`check` asks no closer to an edge than 0.05 bins.)",
        (
            "What if you clamp first, and round then?",
            "Then the outermost bins keep their inner half. Where does the last bin end?",
            "At half a bin beyond `high`. Clamp a little before that, so that it still rounds to "
            "`high`.",
        ),
        _check_whole_bins,
        "Whole bins, with every version of torch.",
    ),
)
