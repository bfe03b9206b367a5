"""How far two gradients are apart, and how far rounding alone may put them apart."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

TIMES = 8  # a difference counts as more than rounding beyond so many times the error of step a


@dataclass(frozen=True)
class Distance:
    """The difference of two tensors: its Euclidean norm, and its largest element; NaN: not known.

    >>> distance(torch.tensor([3.0, 1.0]), torch.tensor([0.0, 5.0]))
    Distance(norm=5.0, largest=4.0)
    """

    norm: float
    largest: float = math.nan

    def __mul__(self, factor: float) -> "Distance":
        return Distance(self.norm * factor, self.largest * factor)

    def beyond(self, floor: "Distance") -> bool:
        """Is it more than rounding, of which the floor is the size?"""
        return self.norm > TIMES * floor.norm or self.largest > TIMES * floor.largest

    def or_larger(self, *others: "Distance") -> "Distance":
        both = [self, *others]
        return Distance(max(d.norm for d in both), max(d.largest for d in both))


NOTHING = Distance(0.0, 0.0)


def difference(a: torch.Tensor | None, b: torch.Tensor | None) -> torch.Tensor | None:
    """a - b in float64 (or complex128), 0 where both are the same inf or NaN; None counts as 0."""
    if a is None and b is None:
        return None
    a, b = (None if t is None else _wide(t) for t in (a, b))
    a, b = torch.zeros_like(b) if a is None else a, torch.zeros_like(a) if b is None else b
    same = (a == b) | (a.isnan() & b.isnan())
    return (a - b).masked_fill(same, 0)


def _wide(tensor):
    tensor = tensor.detach().to_dense()
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def distance(a: torch.Tensor | None, b: torch.Tensor | None) -> Distance:
    """Of two tensors of one shape; infinite where only one of them is finite."""
    return size(difference(a, b))


def size(tensor: torch.Tensor | None) -> Distance:
    """How large a tensor is: its distance from 0.

    >>> size(torch.tensor([3.0, torch.nan]))
    Distance(norm=inf, largest=inf)
    """
    if tensor is None or not tensor.numel():
        return NOTHING
    sizes = _wide(tensor).abs()
    norm, largest = sizes.norm().item(), sizes.max().item()
    return Distance(norm, largest) if math.isfinite(norm) else Distance(math.inf, math.inf)


def together(distances: Iterable[Distance]) -> float:
    """The norm of all of them together.

    >>> together([Distance(3.0, 1.0), Distance(4.0, 1.0)])
    5.0
    """
    return math.hypot(*(each.norm for each in distances))


def last_digit(tensor: torch.Tensor | None) -> Distance:
    """What rounding each element to its dtype once may change.

    >>> last_digit(torch.ones(1)).norm == 2**-24
    True
    """
    if tensor is None:
        return NOTHING
    return size(tensor.nan_to_num(0, 0, 0)) * (torch.finfo(tensor.dtype).eps / 2)


def rounding_floor(tensor: torch.Tensor | None, relative: float) -> Distance:
    """How large the rounding errors of a tensor are, if they are such a share of it.

    >>> rounding_floor(torch.tensor([3.0, 4.0]), 0.5)
    Distance(norm=2.5, largest=2.0)
    """
    return (size(tensor) * relative).or_larger(last_digit(tensor))
