"""Exercises on what backward(v) computes."""

import torch

from helpers.lessons.exercises.exercise import (
    BEFORE,
    Exercise,
    Wrong,
    call,
    compare,
    compare_preset_grad,
    likely_mistake,
    preset_grad,
)

NO_WEIGHTS = {
    "only for scalar outputs": "y has several numbers, and backward gets no weights for them: hand "
    "over v, of the shape of y.",
}


def _leaf(*values):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    preset_grad(x)
    return x


def _check_jacobian_row(answer):
    jacobian = torch.tensor([[3.0, 2.0], [4.0, 0.0], [-1.0, 5.0]], dtype=torch.float64)
    for i in (1, 0):
        x = _leaf(2.0, 3.0)
        y = torch.stack([x[0] * x[1], x[0] ** 2, 5 * x[1] - x[0]])
        walks = []
        y.register_hook(walks.append)
        like_y = "v needs the shape of y, here (3,): one weight for each number of y, not of x."
        yours = call(answer, y, x, i, cures={"Mismatch in shape": like_y, **NO_WEIGHTS})
        mistakes = {
            "That is the sum of all rows: v has a 1 for each of them.": jacobian.sum(0),
            f"That is column {i}: a slope of each number of y, not each of one.": jacobian[:, i],
            "That is the whole Jacobian: v picks one row of it.": jacobian,
            f"That is row {i - 1}: i counts from 0.": jacobian[i - 1],
            "That is the row, plus what was in x.grad before: torch.autograd.grad leaves that "
            "alone.": jacobian[i] + BEFORE,
        }
        where = f"row {i} for y = [x1 * x2, x1², 5 * x2 - x1] at x = [2, 3]"
        compare(where, yours, jacobian[i], likely_mistake(yours, mistakes))
        if len(walks) > 1:
            raise Wrong(
                f"row {i} is right, but yours asks autograd {len(walks)} times: one call with a 1 "
                f"at {i} and zeros elsewhere is enough."
            )
        compare_preset_grad("x.grad", x)


def _check_weighted_gradient(answer):
    weights = torch.tensor([2.0, -1.0, 5.0], dtype=torch.float64)
    for features in (3, 2):  # a square first: there weights fit along the wrong dimension, too
        x = _leaf([1.0, 2.0], [3.0, -1.0], [2.0, 1.0])
        mixed = (x - x.mean(0)).square()  # so that the weights cannot be applied afterwards
        y = mixed @ torch.arange(1, 2 * features + 1).double().reshape(2, features)
        expected, all_alike, across = [
            torch.autograd.grad(y, x, v.expand_as(y), retain_graph=True)[0]
            for v in (weights[:, None], torch.ones(1).double(), weights[:features])
        ]
        mistakes = {
            "The weights are ignored: each sample counts 1.": all_alike,
            "The weights run along the features, expected along the samples: weights[:, None].": (
                across
            ),
            f"A sum is asked for, not the mean of {features} numbers.": expected / features,
            f"A sum is asked for, not the mean of {y.numel()} numbers.": expected / y.numel(),
            "The weights count as they are: don't divide by their sum.": expected / weights.sum(),
            "That is the unweighted gradient times weights: the weights belong to y, not to x.": (
                weights[:, None] * all_alike
            ),
            "That is the gradient, plus what was in x.grad before: torch.autograd.grad leaves that "
            "alone.": expected + BEFORE,
        }
        shape = tuple(y.shape)
        like_y = f"v needs the shape of y, {shape}: repeat each weight along its row of y."
        cures = {"Mismatch in shape": like_y, "must match": f"For y of shape {shape}: {like_y}"}
        yours = call(answer, y, x, weights.clone(), cures={**cures, **NO_WEIGHTS})
        where = f"gradient for y of shape {shape} and weights [2, -1, 5]"
        compare(where, yours, expected, likely_mistake(yours, mistakes))
        if yours.dtype != x.dtype:
            raise Wrong(f"{where}: yours is {yours.dtype}, expected {x.dtype}, as x is.")
        compare_preset_grad("x.grad", x)


def _check_two_gradients(answer):
    x = _leaf(1.0, 2.0, -1.0)
    shared = x**3
    a, b = shared @ torch.tensor([1.0, 2.0, 3.0]).double(), shared.square().sum()
    of_a, of_b = (torch.autograd.grad(loss, x, retain_graph=True)[0] for loss in (a, b))
    freed = (
        "the first call frees the part of the graph that the second needs: retain_graph=True in "
        "the first keeps it."
    )
    yours = call(answer, a, b, x, cures={"a second time": freed})
    if not isinstance(yours, (tuple, list)) or len(yours) != 2:
        several = isinstance(yours, (tuple, list))
        got = f"{len(yours)} in a {type(yours).__name__}" if several else type(yours).__name__
        one = yours[0] if several and yours else yours
        why = likely_mistake(one, {"That is the sum of both: ask for each alone.": of_a + of_b})
        raise Wrong(f"needs a tuple of two gradients, got {got}. {why}".strip())
    if yours[0] is yours[1] is not None:
        raise Wrong("the two are one tensor, x.grad: the second backward() added to it in place.")
    old = "It has in it what was in x.grad before."
    first = {"That is the gradient of b: the two are swapped.": of_b, old: of_a + BEFORE}
    second = {"The gradient of a is in it, too: backward() adds to x.grad.": of_a + of_b}
    compare("gradient of a", yours[0], of_a, likely_mistake(yours[0], first))
    compare("gradient of b", yours[1], of_b, likely_mistake(yours[1], second))
    compare_preset_grad("x.grad", x)
    if any(gradient.requires_grad for gradient in yours):
        raise Wrong("create_graph=True gives the gradients a graph: retain_graph=True is enough.")
    try:
        torch.autograd.grad(a, x)
    except RuntimeError:
        return
    raise Wrong("after the call the graph is still alive, expected freed: retain it only once.")


EXERCISES = (
    Exercise(
        "02.1",
        "One row of the Jacobian",
        4,
        "`y` is a vector, computed from the vector `x`. Write `jacobian_row(y, x, i)`: it returns "
        "row `i` of the Jacobian, which is the gradient of `y[i]` with respect to `x`. Ask "
        "autograd once, and leave `x.grad` as it was.",
        (
            "`backward(v)` computes vᵀJ, a weighted sum of the rows. Which weights leave only row "
            "i?",
            "v has the shape of y. Start from `torch.zeros_like(y)`.",
            "`torch.autograd.grad(y, x, v)` returns a tuple and does not touch `x.grad`.",
        ),
        _check_jacobian_row,
        "Asked once, and one row came back.",
    ),
    Exercise(
        "02.2",
        "One weight for each sample",
        6,
        "`y` has the shape (samples, features), `weights` has the shape (samples,). Write "
        "`weighted_gradient(y, x, weights)`: it returns the gradient of the weighted sum "
        "Σᵢ weights[i] · Σⱼ y[i, j] with respect to `x`. Leave `x.grad` as it was.",
        (
            "Written as a vector-Jacobian product, v has the shape of y, and `weights[i]` stands "
            "everywhere in row i.",
            "`weights[:, None]` is a column of shape (samples, 1), and broadcasts along the "
            "features. If y is square, `weights` alone fits, too, along the wrong dimension.",
            "Or build the number, `(weights[:, None] * y).sum()`, and ask for its gradient.",
        ),
        _check_weighted_gradient,
        "Each sample counts as much as its weight says, even if y is square.",
    ),
    Exercise(
        "02.3",
        "Two losses, one graph",
        5,
        "The losses `a` and `b` are numbers, and a part of their graph is shared. Write "
        "`two_gradients(a, b, x)`: it returns the gradient of `a` and the gradient of `b` with "
        "respect to `x`, as a tuple. Leave `x.grad` as it was. After the call the graph is freed.",
        (
            "One call for both losses returns the sum of their gradients. So it takes two calls.",
            "A call frees what the graph has saved, the shared part as well. Which of the two "
            "calls has to keep it? The first: `retain_graph=True`.",
        ),
        _check_two_gradients,
        "Kept for the second question, freed after it.",
    ),
)
