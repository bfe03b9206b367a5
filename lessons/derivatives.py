"""Derivatives of first and second order as numbers, the way autograd computes them."""

from collections.abc import Callable

import torch


def derivatives(fn: Callable, x: torch.Tensor, order: int = 2) -> list[torch.Tensor]:
    """fn(x), fn'(x), fn''(x), … up to `order`, of an elementwise fn, each with the shape of x.

    Each derivative is the gradient of the sum of the one before, taken with `create_graph=True`.
    Where a derivative has no graph, because it is a constant, the next one is 0. Raises ValueError
    if fn changes the shape of x, or if its result is not connected to x.

    >>> [d.item() for d in derivatives(lambda x: x**3, torch.tensor(2.0))]
    [8.0, 12.0, 12.0]
    """
    x = x.detach().requires_grad_()
    found = [fn(x)]
    if not isinstance(found[0], torch.Tensor) or found[0].shape != x.shape:
        made = getattr(found[0], "shape", type(found[0]).__name__)
        raise ValueError(f"fn needs to be elementwise, but made {made} of {x.shape}")
    if not found[0].requires_grad:
        raise ValueError("the result of fn is not connected to x: something cuts the graph")
    for _ in range(order):
        last = found[-1]
        if last.requires_grad:
            (last,) = torch.autograd.grad(last.sum(), x, create_graph=True, materialize_grads=True)
            found.append(last)
        else:
            found.append(torch.zeros_like(x))
    return [
        derivative.detach() + 0.0 for derivative in found
    ]  # abs returns a tensor without storage


def kind_of_point(fn: Callable, x: torch.Tensor) -> str:
    """What fn: (n,) -> () has at x: "a minimum", "a maximum", "a saddle point", "still moving".

    By the gradient, which has to be nearly 0 beside the Hessian, and the signs of the Hessian's
    eigenvalues. If one of them is nearly 0, too, or not finite, it says "a flat place".

    >>> kind_of_point(lambda x: x[0] ** 2 - x[1] ** 2, torch.zeros(2))
    'a saddle point'
    """
    gradient, hessian = torch.func.grad(fn)(x), torch.func.jacrev(torch.func.grad(fn))(x)
    if not (x.isfinite().all() and gradient.isfinite().all()):
        return "still moving"
    if not hessian.isfinite().all():
        return "a flat place"
    bends = torch.linalg.eigvalsh(hessian)
    if gradient.norm() > 1e-3 * bends.abs().max():
        return "still moving"
    if bends.abs().min() <= 1e-6 * bends.abs().max():
        return "a flat place"
    if (bends > 0).all():
        return "a minimum"
    return "a maximum" if (bends < 0).all() else "a saddle point"
