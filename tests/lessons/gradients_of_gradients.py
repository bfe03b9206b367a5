"""Wrong answers to the exercises on differentiating a gradient."""

import pytest
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


def penalty(reduce, create_graph=True):
    """An answer that reduces the gradients of all samples to one number."""

    def answer(model, x):
        x = x.detach().requires_grad_()
        return reduce(grad(model(x).sum(), x, create_graph=create_graph)[0])

    return answer


def off_one(gradients):
    """The right way to reduce: each norm should be 1."""
    return ((gradients.norm(dim=1) - 1) ** 2).mean()


def half_detached(gradients):
    norms = gradients.norm(dim=1)
    return ((norms - 1) * (norms.detach() - 1)).mean()


def to_the_weights(model, x):
    gradients = grad(model(x).sum(), tuple(model.parameters()), create_graph=True)
    return (torch.cat([gradient.flatten() for gradient in gradients]).norm() - 1) ** 2


def x_as_it_comes(model, x):
    return off_one(grad(model(x).sum(), x, create_graph=True)[0])


def x_changed(model, x):
    return x_as_it_comes(model, x.requires_grad_())


def penalty_by_backward(model, x, **options):
    x.grad = None
    torch.set_warn_always(True)  # or this would be the only warning of a reference cycle
    try:
        with pytest.warns(UserWarning, match="create_graph=True will create a reference cycle"):
            model(x).sum().backward(create_graph=True, **options)
    finally:
        torch.set_warn_always(False)
    return off_one(x.grad)


def x_grad_written(model, x):
    x = x if x.requires_grad else x.detach().requires_grad_()
    return penalty_by_backward(model, x, inputs=[x])


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
    "gradients_of_gradients.3": {
        "no create_graph": (
            penalty(off_one, create_graph=False),
            "no grad_fn … create_graph=True",
        ),
        "half detached": (penalty(half_detached), "with respect to 0.weight, entry [0, 0]"),
        "one norm over the batch": (
            penalty(lambda gradients: (gradients.norm() - 1) ** 2),
            "That is one norm over all samples",
        ),
        "of the mean": (
            penalty(lambda gradients: off_one(gradients / len(gradients))),
            "divided by the number of samples",
        ),
        "to the weights": (to_the_weights, "with respect to the weights, not to x"),
        "x as it comes": (x_as_it_comes, "x came without requires_grad"),
        "x changed": (x_changed, "x.requires_grad after the call: yours True, expected False"),
        "x.grad emptied": (x_grad_written, "x.grad after the call, entry [0, 0]: yours "),
        "by backward": (
            lambda model, x: penalty_by_backward(model, x.detach().requires_grad_()),
            "0.weight.grad after the call, entry [0, 0]: yours ",
        ),
    },
}
