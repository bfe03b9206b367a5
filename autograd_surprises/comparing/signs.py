"""Sizes of a tensor and of a difference of two, from a few numbers that fit into a file.

The sum of all elements with random signs is, squared, on average the sum of their squares. So the
sums of two gradients with the same signs tell how large their difference is, without either.
"""

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache

import torch

SUMS = 16
BLOCK = 2**12  # elements that are read at a time, so that their signs stay in the cache
MIX = (-49064778989728563, -4265267296055464877)  # the factors of MurmurHash3's last step


def signed_sums(tensor: torch.Tensor, name: str) -> list[float]:
    """Sums of all elements, each time with other random signs; the name decides which.

    The signs come from whole numbers alone, so they are the same in all versions of torch.

    >>> signed_sums(torch.ones(1), "w") == signed_sums(torch.ones(1, 1), "w")
    True
    """
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    numbers = tensor.detach().to_dense().flatten()
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    seed = int.from_bytes(digest, "big", signed=True)
    sums = torch.zeros(SUMS, dtype=torch.float64, device=numbers.device)
    for k, block in enumerate(numbers.split(BLOCK)):
        sums += signs(seed, k * BLOCK, len(block), numbers.device) @ block.double()
    return sums.tolist()


@lru_cache(64)  # the gradients of many operations get the same ones
def signs(seed: int, start: int, count: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """-1 and 1 for so many places, a row for each sum.

    >>> signs(0, 0, 2).shape, signs(0, 0, 2)[:, 1].equal(signs(0, 1, 1)[:, 0])
    (torch.Size([16, 2]), True)
    """
    mixed = torch.arange(start, start + count, dtype=torch.int64, device=device) ^ seed
    for factor in MIX:
        mixed = (mixed ^ _shifted(mixed)) * factor  # which wraps
    mixed = mixed ^ _shifted(mixed)
    bits = mixed >> torch.arange(SUMS, dtype=torch.int64, device=device)[:, None]
    return (bits & 1).double() * 2 - 1


def _shifted(numbers):
    """By 33 bits to the right, filled with zeros."""
    return (numbers >> 33) & (2**31 - 1)


def norm_of_difference(a: Sequence[float], b: Sequence[float]) -> float:
    """About how large the difference of two tensors is, from the signed sums of both.

    Its relative error is about 1/sqrt(2 SUMS), which is 18 %.

    >>> norm_of_difference([3.0, 1.0], [0.0, 5.0]) == (25 / 2) ** 0.5
    True
    """
    squares = [(x - y) ** 2 for x, y in zip(a, b, strict=True)]
    mean = sum(squares) / len(squares)
    return math.sqrt(mean) if math.isfinite(mean) else math.inf
