"""Wrong answers to the exercises on what backward(v) computes."""

import torch
from torch.autograd import grad


def one_hot(y, i):
    v = torch.zeros_like(y)
    v[i] = 1
    return v


def row(y, x, i):
    return grad(y, x, one_hot(y, i))[0]


def all_rows(y, x):
    return torch.stack([grad(number, x, retain_graph=True)[0] for number in y])


def row_in_emptied_grad(y, x, i):
    x.grad = None
    y.backward(one_hot(y, i))
    return x.grad


def weighted(v):
    """An answer that asks with v, which is made from y and weights."""
    return lambda y, x, weights: grad(y, x, v(y, weights))[0]


def column(y, weights):
    return weights[:, None].expand_as(y)


def weighted_added_to_old(y, x, weights):
    y.backward(column(y, weights))
    return x.grad


WRONG = {
    "backward_needs_a_gradient.1": {
        "ones": (
            lambda y, x, i: grad(y, x, torch.ones_like(y))[0],
            "[0]: yours 6, expected 4 … That is the sum of all rows",
        ),
        "v of the shape of x": (
            lambda y, x, i: grad(y, x, one_hot(x, i))[0],
            "shape of y, here (3,)",
        ),
        "no v": (lambda y, x, i: grad(y, x)[0], "no weights … pass v"),
        "the call": (3, "needs the function itself, got int"),
        "a column": (
            lambda y, x, i: all_rows(y, x)[:, i],
            "yours has shape (3,), expected (2,) … That is column 1",
        ),
        "the whole Jacobian": (lambda y, x, i: all_rows(y, x), "That is the whole Jacobian"),
        "all rows, then one": (lambda y, x, i: all_rows(y, x)[i], "autograd 3 times"),
        "counts from 1": (lambda y, x, i: row(y, x, i - 1), "That is row 0: i counts from 0"),
        "x.grad emptied": (
            row_in_emptied_grad,
            "x.grad after the call, entry [0]: yours 4, expected 10",
        ),
        "the tuple": (lambda y, x, i: grad(y, x, one_hot(y, i)), "yours is tuple … take [0]"),
    },
    "backward_needs_a_gradient.2": {
        "weights as they are": (weighted(lambda y, weights: weights), "shape of y, (3, 3)"),
        "along the wrong dimension": (
            weighted(lambda y, weights: weights.expand_as(y)),
            "along the features … weights[:, None]",
        ),
        "only for a square": (
            weighted(lambda y, weights: weights.expand_as(y).T),
            "shape of y, (4, 1)",
        ),
        "weights afterwards": (
            lambda y, x, weights: weights[:, None] * grad(y.sum(), x)[0],
            "belong to y, not to x",
        ),
        "weights ignored": (
            weighted(lambda y, weights: torch.ones_like(y)),
            "yours 40, expected 20 … ignored",
        ),
        "backward, and x.grad": (weighted_added_to_old, "x.grad … adds"),
    },
}
