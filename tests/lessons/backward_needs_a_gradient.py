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


def both(a, b, x):
    return grad(a, x, retain_graph=True)[0], grad(b, x)[0]


def both_by_backward(a, b, x):
    a.backward(retain_graph=True)
    of_a = x.grad.clone()
    b.backward()
    return of_a, x.grad.clone()


def both_in_emptied_grad(a, b, x):
    x.grad = None
    return both_by_backward(a, b, x)


def both_are_x_grad(a, b, x):
    a.backward(retain_graph=True)
    of_a = x.grad
    b.backward()
    return of_a, x.grad


RIGHT = {"backward_needs_a_gradient.3": {"a list": lambda a, b, x: list(both(a, b, x))}}

WRONG = {
    "backward_needs_a_gradient.1": {
        "ones": (
            lambda y, x, i: grad(y, x, torch.ones_like(y))[0],
            "[0]: yours 6, expected 4. That is the sum of all rows",
        ),
        "v of the shape of x": (
            lambda y, x, i: grad(y, x, one_hot(x, i))[0],
            "shape of y, here (3,)",
        ),
        "no v": (lambda y, x, i: grad(y, x)[0], "no weights … pass v"),
        "the call": (3, "needs the function itself, got int"),
        "a column": (
            lambda y, x, i: all_rows(y, x)[:, i],
            "yours has shape (3,), expected (2,). That is column 1",
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
    "backward_needs_a_gradient.3": {
        "nothing retained": (
            lambda a, b, x: (grad(a, x)[0], grad(b, x)[0]),
            "first call frees … retain_graph=True",
        ),
        "create_graph instead": (
            lambda a, b, x: (grad(a, x, create_graph=True)[0], grad(b, x)[0]),
            "create_graph=True … retain_graph=True is enough",
        ),
        "one call for both": (
            lambda a, b, x: grad((a, b), x),
            "got a tuple of a float64 tensor … their sum",
        ),
        "swapped": (lambda a, b, x: both(b, a, x), "yours 6, expected 3 … swapped"),
        "x.grad twice": (both_are_x_grad, "the two are one tensor, x.grad"),
        "the second contains the first": (both_in_emptied_grad, "The gradient of a is in it, too"),
        "retained twice": (
            lambda a, b, x: tuple(grad(loss, x, retain_graph=True)[0] for loss in (a, b)),
            "still alive, expected freed",
        ),
    },
}
