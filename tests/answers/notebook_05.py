"""Wrong answers to the exercises on differentiating a gradient."""

import pytest
import torch
from torch.autograd import grad


def slope(f, x):
    return grad(f(x).sum(), x, create_graph=True)[0]


def second(f, x, **options):
    """Right for curves and, with options, for some of the straight lines."""
    return grad(slope(f, x).sum(), x, **options)[0]


def zeros_if_no_graph(f, x, **options):
    return second(f, x, **options) if slope(f, x).requires_grad else torch.zeros_like(x)


def second_by_backward(f, x):
    slope(f, x).sum().backward()
    return x.grad


def second_in_emptied_grad(f, x):
    x.grad = None
    return second_by_backward(f, x)


def gradient(f, x):
    return grad(f(x), x, create_graph=True)[0]


def hessian(f, x):
    return torch.func.jacrev(torch.func.grad(f))(x)


def row_by_row(f, x, v):
    rows = [grad(number, x, retain_graph=True)[0] @ v for number in gradient(f, x)]
    return torch.stack(rows)


def in_blocks(f, x, v):
    rows = [torch.nn.functional.one_hot(some, len(x)) for some in torch.arange(len(x)).split(20)]
    slope = gradient(f, x)
    of_rows = [grad(slope, x, some, True, is_grads_batched=True)[0] @ v for some in rows]
    return torch.cat(of_rows)


def product_by_backward(f, x, v):
    (gradient(f, x) @ v).backward()
    return x.grad


def product_in_emptied_grad(f, x, v):
    x.grad = None
    return product_by_backward(f, x, v)


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


def x_changed_back(model, x):
    value = x_changed(model, x)
    x.requires_grad_(False)
    return value


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


def two_backwards(f, x):
    (f(x).sum() + slope(f, x).sum()).backward(inputs=[x])
    return x.grad


def jvp_of_gradient(f, x, v):
    return gradient(f, x), grad(gradient(f, x), x, v)[0]


WRONG = {
    "05.1": {
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
        "None for weight * x": (
            lambda f, x: zeros_if_no_graph(f, x, allow_unused=True),
            "has a graph, but x is not in it",
        ),
        "f used once more": (lambda f, x: slope(f, slope(f, x)), "[0, 0]: yours 27, expected 6"),
        "backward, and x.grad": (second_by_backward, "x.grad … adds"),
        "x.grad emptied": (second_in_emptied_grad, "x.grad after the call, entry [0, 0]: yours 6"),
        "two backwards": (two_backwards, "That is what two calls of backward() add up in x.grad"),
        "by differences": (
            lambda f, x: (f(x + 0.1) - 2 * f(x) + f(x - 0.1)).detach() / 0.01,
            "second derivative of sin(x)",
        ),
        "the tuple": (lambda f, x: grad(slope(f, x).sum(), x), "yours is tuple … take [0]"),
    },
    "05.2": {
        "v ignored": (lambda f, x, v: second(f, x), "the sum of each row: v is not used"),
        "v after the second call": (
            lambda f, x, v: second(f, x) * v,
            "v goes inside, before the second call",
        ),
        "the diagonal": (
            lambda f, x, v: hessian(f, x).diagonal() * v,
            "That is the diagonal of H times v",
        ),
        "the gradient times v": (
            lambda f, x, v: gradient(f, x) * v,
            "That is the gradient times v: one derivative is missing",
        ),
        "the directional derivative": (
            lambda f, x, v: gradient(f, x) @ v,
            "shape (), expected (60,) … gradient · v",
        ),
        "one product too many": (
            lambda f, x, v: grad(gradient(f, x) @ v, x)[0] @ v,
            "That is the number vᵀHv",
        ),
        "H itself": (lambda f, x, v: hessian(f, x), "That is H itself"),
        "H built": (lambda f, x, v: hessian(f, x) @ v, "a tensor of 3600"),
        "H in blocks": (in_blocks, "a tensor of 1200"),
        "f without x": (
            lambda f, x, v: grad(grad(f(x.detach()), x, create_graph=True)[0], x, v)[0],
            "f(x) has none if x was detached",
        ),
        "row by row": (row_by_row, "computes sin(x) "),
        "no weights": (lambda f, x, v: grad(gradient(f, x) * v, x)[0], "needs weights: v"),
        "the pair of jvp": (jvp_of_gradient, "a pair, expected a tensor"),
        "the first of jvp's pair": (
            lambda f, x, v: jvp_of_gradient(f, x, v)[0],
            "That is the gradient. ",
        ),
        "backward, and x.grad": (product_by_backward, "x.grad … adds"),
        "x.grad emptied": (product_in_emptied_grad, "x.grad after the call, entry [0]: yours "),
    },
    "05.3": {
        "no create_graph": (
            penalty(off_one, create_graph=False),
            "no grad_fn … without create_graph=True",
        ),
        "detached": (
            penalty(lambda gradients: off_one(gradients.detach())),
            "no grad_fn … create_graph=True is there",
        ),
        "half detached": (penalty(half_detached), "with respect to first, entry [0, 0]"),
        "a plain number": (penalty(lambda gradients: off_one(gradients).item()), "yours is float"),
        "one norm over the batch": (
            penalty(lambda gradients: (gradients.norm() - 1) ** 2),
            "That is one norm over all samples",
        ),
        "norms over the samples": (
            penalty(lambda gradients: off_one(gradients.T)),
            "over the samples … dim=1",
        ),
        "of the mean": (
            penalty(lambda gradients: off_one(gradients / len(gradients))),
            "divided by the number of samples",
        ),
        "no - 1": (
            penalty(lambda gradients: (gradients.norm(dim=1) ** 2).mean()),
            "The - 1 is missing",
        ),
        "the squared norm": (
            penalty(lambda gradients: ((gradients.square().sum(1) - 1) ** 2).mean()),
            "That is (norm² - 1)², expected (norm - 1)²",
        ),
        "no square": (
            penalty(lambda gradients: (gradients.norm(dim=1) - 1).mean()),
            "The square of (norm - 1) is missing",
        ),
        "the mean first": (
            penalty(lambda gradients: (gradients.norm(dim=1).mean() - 1) ** 2),
            "square … mean",
        ),
        "a sum": (penalty(lambda gradients: 3 * off_one(gradients)), "not their sum"),
        "no mean": (
            penalty(lambda gradients: (gradients.norm(dim=1) - 1) ** 2),
            "shape (3,), expected () … mean over the samples",
        ),
        "to the weights": (to_the_weights, "with respect to the weights, not to x"),
        "x as it comes": (x_as_it_comes, "x came without requires_grad"),
        "x changed": (x_changed, "x.requires_grad after the call: yours True, expected False"),
        "x changed back": (
            x_changed_back,
            "x.requires_grad after the call: yours False, expected True",
        ),
        "x.grad emptied": (x_grad_written, "x.grad after the call, entry [0, 0]: yours "),
        "by backward": (
            lambda model, x: penalty_by_backward(model, x.detach().requires_grad_()),
            "first.grad after the call, entry [0, 0]: yours ",
        ),
    },
}
