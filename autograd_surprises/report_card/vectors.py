"""Some tensors as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch


def flat(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, Callable]:
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
