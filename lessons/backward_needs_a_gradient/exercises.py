"""Checks on what backward(v) computes."""

import torch

from lessons.asking.answers import call_answer, short_list
from lessons.asking.arguments import expect_kept, expect_new_gradient, leaf_with_old_grad
from lessons.asking.registry import Wrong, check_of

NO_WEIGHTS = {
    "only for scalar outputs": "y has several numbers, but backward got no weights for them: pass "
    "v, of the shape of y."
}


def _three(x):
    return torch.stack([x[0] * x[1], x[0] ** 2, 5 * x[1] - x[0]])


def _five(x):
    return torch.stack([x[0] ** 2 * x[2], x[1] * x[3], x[2] ** 3, x[0] - x[3], x[1] ** 2])


THREE = _three, "y = [x1 * x2, x1², 5 * x2 - x1]", [2.0, 3.0], torch.float64
FIVE = _five, "y = [x1² * x3, x2 * x4, x3³, x1 - x4, x2²]", [1.0, -2.0, 0.5, 3.0], torch.float32


@check_of("backward_needs_a_gradient.1", "One call, one row.", inputs=[(*THREE, 1), (*FIVE, 2)])
def check_jacobian_row(answer, fn, formula, point, dtype, i):
    x = leaf_with_old_grad(point, dtype)
    jacobian = torch.func.jacrev(fn)(x.detach())
    y, walks = fn(x), []
    y.register_hook(walks.append)
    like_y = (
        f"v needs the shape of y, here {tuple(y.shape)}: one weight for each number of y, not of x."
    )
    yours = call_answer(answer, y, x, i, cures={"Mismatch in shape": like_y, **NO_WEIGHTS})
    mistakes = {
        "That is the sum of all rows: v has a 1 for each of them.": jacobian.sum(0),
        f"That is column {i}: how each number of y changes with one of x.": jacobian[:, i],
        "That is the whole Jacobian: v picks one row of it.": jacobian,
        f"That is row {i - 1}: i counts from 0.": jacobian[i - 1],
    }
    where = f"row {i} for {formula} at x = {short_list(point)}"
    expect_new_gradient(where, yours, jacobian[i], mistakes)
    if len(walks) > 1:
        raise Wrong(
            f"row {i} is right, but yours calls autograd {len(walks)} times: one call with a 1 "
            f"at {i} and zeros elsewhere is enough."
        )
    expect_kept("x.grad", x)


SAMPLES = [[1.0, 2.0], [3.0, -1.0], [2.0, 1.0]]


@check_of(
    "backward_needs_a_gradient.2",
    "Each sample counts as much as its weight says, even if y is square.",
    inputs=[  # a square first: there weights fit along the wrong dimension, too
        (SAMPLES, [2.0, -1.0, 5.0], 3, torch.float64),
        ([*SAMPLES, [0.0, -3.0]], [0.5, 3.0, -2.0, 4.0], 1, torch.float32),
    ],
)
def check_weighted_gradient(answer, samples, weights, features, dtype):
    named = short_list(weights)
    weights = torch.tensor(weights, dtype=dtype)
    x = leaf_with_old_grad(samples, dtype)
    mixed = (x - x.mean(0)).square()  # so that the weights cannot be applied afterwards
    y = mixed @ torch.arange(1, 2 * features + 1).to(dtype).reshape(2, features)
    expected, all_alike, across = [
        torch.autograd.grad(y, x, v.expand_as(y), retain_graph=True)[0]
        for v in (weights[:, None], torch.ones(1, dtype=dtype), weights[:features])
    ]
    mistakes = {
        "The weights are ignored: each sample counts 1.": all_alike,
        "The weights run along the features, expected along the samples: weights[:, None].": (
            across
        ),
        "That is the unweighted gradient times weights: the weights belong to y, not to x.": (
            weights[:, None] * all_alike
        ),
    }
    shape = tuple(y.shape)
    like_y = f"v needs the shape of y, {shape}: repeat each weight along its row of y."
    cures = {"Mismatch in shape": like_y, "must match": like_y, **NO_WEIGHTS}
    yours = call_answer(answer, y, x, weights.clone(), cures=cures)
    where = f"gradient for y of shape {shape} and weights {named}"
    expect_new_gradient(where, yours, expected, mistakes)
    expect_kept("x.grad", x)
