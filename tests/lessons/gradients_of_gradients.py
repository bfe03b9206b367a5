"""Wrong answers to the exercises on differentiating a gradient."""

import torch
from torch.autograd import grad


def slope(f, x):
    return grad(f(x).sum(), x, create_graph=True)[0]


def second(f, x):
    """Right for curves."""
    return grad(slope(f, x).sum(), x)[0]


def zeros_if_no_graph(f, x):
    return second(f, x) if slope(f, x).requires_grad else torch.zeros_like(x)


def second_in_emptied_grad(f, x):
    x.grad = None
    slope(f, x).sum().backward()
    return x.grad


def gradient(f, x):
    return grad(f(x), x, create_graph=True)[0]


def hessian(f, x):
    return torch.func.jacrev(torch.func.grad(f))(x)


def row_by_row(f, x, v):
    rows = [grad(number, x, retain_graph=True)[0] @ v for number in gradient(f, x)]
    return torch.stack(rows)


WRONG = {
    "gradients_of_gradients.1": {
        "the first derivative": (
            lambda f, x: slope(f, x).detach(),
            "yours 3, expected 6 … first derivative",
        ),
        "a number": (lambda f, x: second(f, x).sum(), "shape (), expected (2, 2) … their sum"),
        "no create_graph": (
            lambda f, x: grad(grad(f(x).sum(), x)[0].sum(), x)[0],
            "has no graph … create_graph=True",
        ),
        "zeros if there is no graph, and there never is": (
            lambda f, x: torch.zeros_like(x),
            "yours 0, expected 6 … create_graph=True",
        ),
        "fails on 3 * x": (second, "line 3 * x … expected zeros"),
        "fails on weight * x": (zeros_if_no_graph, "line weight * x … expected zeros"),
        "x.grad emptied": (second_in_emptied_grad, "x.grad after the call, entry [0, 0]: yours 6"),
    },
    "gradients_of_gradients.2": {
        "v ignored": (lambda f, x, v: second(f, x), "the sum of each row: v is not used"),
        "v after the second call": (
            lambda f, x, v: second(f, x) * v,
            "v goes inside, before the second call",
        ),
        "the directional derivative": (
            lambda f, x, v: gradient(f, x) @ v,
            "shape (), expected (60,) … gradient · v",
        ),
        "H built": (lambda f, x, v: hessian(f, x) @ v, "a tensor of 3600"),
        "row by row": (row_by_row, "computes sin(x) "),
        "no weights": (lambda f, x, v: grad(gradient(f, x) * v, x)[0], "needs weights: v"),
    },
}
