"""Random tensors that are the same in each check of an answer."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def random_tensors(seed: int, *shapes: Sequence[int]) -> list[torch.Tensor]:
    """Normal numbers in float64, a tensor of each shape.

    >>> [each.shape for each in random_tensors(0, (2, 3), (4,))]
    [torch.Size([2, 3]), torch.Size([4])]
    """
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
