"""Checks on default gradients: a NaN to avoid, and a gradient that no slope explains."""

import torch

from lessons.asking.answers import expect_tensor
from lessons.asking.bug_hunt import CallRecorder
from lessons.asking.difference_figure import draw_against
from lessons.asking.pointwise import gradients_for, own_functions, run_on_leaves
from lessons.asking.registry import Wrong, check_of

float32, float64 = torch.float32, torch.float64
# The node of the learner's last step -> why its gradient is NaN where both are 0.
NAN_AFTER = {
    "Hypot": "The gradient of hypot is a / length: there, 0 / 0.",
    "Sqrt": "A root is infinitely steep at 0, and a square is flat: ∞ · 0.",
    "Pow": "The power 0.5 is infinitely steep at 0, and a square is flat: ∞ · 0.",
    "Where": "The branch that where leaves out gets the gradient 0, and its backward multiplies "
    "that by 0 / 0 or ∞: NaN again. Choose before you compute the length.",
}


def _differences(yours, expected, rounding):
    """(index, yours, expected) of each number that differs, NaN, too."""
    pairs = zip(yours.flatten().tolist(), expected.flatten().tolist(), strict=True)
    for i, (mine, right) in enumerate(pairs):
        if not abs(mine - right) <= rounding * abs(right):
            yield i, mine, right


@check_of(
    "gradient_atlas.1",
    "The gradient is 0 where both are 0 and the direction elsewhere, and never NaN.",
    inputs=[  # a, b and upstream gradients, none of them 1
        (
            torch.tensor([[0.0, 3.0, 0.0], [-5.0, 0.0, 3e-9]], dtype=float64),
            torch.tensor([[0.0, 4.0, 2.0], [0.0, 0.0, -4e-9]], dtype=float64),
            torch.tensor([[2.0, -3.0, 5.0], [0.5, 7.0, -4.0]], dtype=float64),
        ),
        [torch.tensor(row) for row in ([1.5, 0.0, -3.0], [2.0, 0.0, 4.0], [3.0, 2.0, -2.0])],
    ],
)
def check_length(answer, a, b, upstream):
    *leaves, length = run_on_leaves(answer, a, b)
    right = torch.hypot(a, b)
    at = [f"a = {x:g}, b = {y:g}" for x, y in zip(a.flatten(), b.flatten(), strict=True)]
    for i, mine, expected in _differences(length.detach(), right, 1e-5):
        why = "It is the root of a² + b²."
        if expected < 1e-3:
            why = "An epsilon makes every short length longer."
        if not expected and mine > 0.1:
            why = "A safe input gives the length of that input: choose 0 in the result, too."
        raise Wrong(f"value at {at[i]}: yours {mine:g}, expected {expected:g}.", why)
    gradients = gradients_for(upstream, length, *leaves)
    for name, gradient, side in zip("ab", gradients, (a, b), strict=True):
        expect_tensor(f"gradient with respect to {name}", gradient, a.shape)
        slope = torch.where(right == 0, 0, upstream * side / right)
        for i, mine, expected in _differences(gradient, slope, 1e-5):
            why = f"Where not both are 0 it is {name} / length, times upstream."
            if "a = 0, b = 0" in at[i]:
                why = _why_at_zero(mine, length)
            raise Wrong(
                f"gradient with respect to {name} at {at[i]}, upstream {upstream.flatten()[i]:g}: "
                f"yours {mine:g}, expected {expected:g}.",
                why,
            )


def _why_at_zero(yours, length):
    if yours == yours:
        return "There it is 0, for both."
    step = length.grad_fn.name()
    return next((why for name, why in NAN_AFTER.items() if step.startswith(name)), "")


ON_THE_LINE = (-2.0, -1e12, -0.3, -1e-12, 0.0, -0.0, 1e-12, 0.5, 3.0, 1e12)
LINE_UPSTREAM = torch.tensor([2.0, -3.0, 0.5, 5.0, -4.0, 3.0, -2.0, 7.0, 6.0, -0.5])
AT_ZERO = {
    1: "There it is the slope of the line. Write x as pieces that bend at 0.",
    2: "Each of the two pieces passes on its whole slope. Take pieces that pass on 0.",
}


@check_of(
    "gradient_atlas.2",
    "The slope is 1, but autograd returns 0: the chain rule does not preserve subgradients.",
    inputs=[(float32, (10,)), (float64, (2, 5))],
    draw_wrong=draw_against(lambda x: torch.relu(x) - torch.relu(-x), (-2.0, 2.0)),
)
def check_flat_at_zero(answer, dtype, shape):
    given = torch.tensor(ON_THE_LINE, dtype=dtype)
    with CallRecorder() as calls:
        x, y = run_on_leaves(answer, given.reshape(shape))
    if calls.called & {"detach", "detach_", "data"}:
        raise Wrong("it cuts the graph with detach. Here no cut is needed.")
    for _, mine, number in _differences(y.detach(), given, 1e-6):
        raise Wrong(f"value at x = {number:g}: yours {mine:g}, expected {number:g}.")
    (gradient,) = gradients_for(LINE_UPSTREAM.reshape(shape), y, x)
    if own_functions(y):
        raise Wrong("it contains a Function of your own. torch's own operations suffice.")
    slope = torch.where(given == 0, 0, LINE_UPSTREAM)
    for i, mine, expected in _differences(gradient, slope, 1e-6):
        number, upstream = given[i].item(), LINE_UPSTREAM[i].item()
        why = "" if number else AT_ZERO.get(mine / upstream, "")
        if mine != mine:
            why = "Some step of backward computes 0 / 0 or ∞ · 0: both are nan."
        raise Wrong(
            f"gradient at x = {number:g}, upstream {upstream:g}: yours {mine:g}, "
            f"expected {expected:g}.",
            why,
        )
