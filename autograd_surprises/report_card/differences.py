"""Some tensors as one vector, and finite differences of a function of it."""

from __future__ import annotations

import torch


def numeric_slopes(function, x):
    """The slopes of function(x) to the left and to the right along each number of the vector x.

    NaN where two steps disagree, near a jump or kink, and where a step leaves the domain.

    >>> numeric_slopes(lambda x: x.abs().sum(), torch.zeros(1).double())
    (tensor([-1.], dtype=torch.float64), tensor([1.], dtype=torch.float64))
    """
    y = function(x)
    return tuple(
        torch.stack([_one_slope(function, x, y, place, side) for place in range(len(x))])
        for side in (-1, 1)
    )


def _one_slope(function, x, y, place, side):
    unit = side * max(1.0, abs(x[place].item()))
    try:
        near, far = (_secant(function, x, y, place, unit * step) for step in (4e-6, 6.4e-5))
    except Exception:
        return torch.full_like(y, torch.nan)
    unsure = (near - far).abs() > 0.01 * (near.abs() + far.abs()) + 1e-4 * (1 + y.abs())
    return near.masked_fill(unsure, torch.nan)


def _secant(function, x, y, place, step):
    beside = x.clone()
    beside[place] += step
    return (function(beside) - y) / (beside[place] - x[place])


def flat(tensors):
    """All numbers of these tensors as one vector, and the way back.

    >>> vector, shaped = flat([torch.zeros(2), torch.ones(1, 1)])
    >>> vector, shaped(vector)[1]
    (tensor([0., 0., 1.]), tensor([[1.]]))
    """
    sizes, shapes = [t.numel() for t in tensors], [t.shape for t in tensors]

    def shaped(vector):
        parts = vector.split(sizes)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    return torch.cat([tensor.flatten() for tensor in tensors]), shaped
