"""Tensors as vectors: several as one and back, and the vector to multiply them by."""

from collections.abc import Sequence

import torch


def flat(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """All numbers of these tensors as one vector.

    >>> flat([torch.zeros(2), torch.ones(1, 1)])
    tensor([0., 0., 1.])
    """
    return torch.cat([tensor.flatten() for tensor in tensors])


def shaped(vector: torch.Tensor, like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The way back: the numbers of a vector, in the shapes of these tensors.

    >>> shaped(torch.arange(3), [torch.zeros(2), torch.ones(1, 1)])
    [tensor([0, 1]), tensor([[2]])]
    """
    parts = vector.split([tensor.numel() for tensor in like])
    return [part.reshape(tensor.shape) for part, tensor in zip(parts, like, strict=True)]


def pattern(tensor: torch.Tensor) -> torch.Tensor:
    """An upstream gradient that hides nothing: both signs, no symmetry, no 0 and no 1.

    >>> pattern(torch.zeros(3))
    tensor([-2.2500,  1.2500, -0.7500])
    """
    numbers = (torch.arange(tensor.numel(), device=tensor.device) * 7 % 11 - 4.5) / 2
    return numbers.to(tensor.dtype).reshape(tensor.shape)


def as_real(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers; complex ones as pairs of real ones, of shape (..., 2).

    >>> as_real(torch.tensor([1 - 2j]))
    tensor([[ 1., -2.]])
    """
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
