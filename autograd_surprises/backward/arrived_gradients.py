"""What is kept of the gradient that arrived at one tensor.

All gradients of a large model at once take as much memory as the model, so each is measured when
it arrives, and released.
"""

from dataclasses import dataclass

import torch

from autograd_surprises.backward.steps import GradientSize

CORNER = 32  # elements along each dimension


@dataclass(frozen=True)
class Arrived:
    """The gradient of one tensor in numbers.

    size           of the gradient
    zeros          where a part of it is 0; None if no part is, or all of it, or if it is sparse
    times_in_grad  how often .grad holds this very gradient, if it does so 2 to 100 times
    """

    size: GradientSize
    zeros: torch.Tensor | None = None
    times_in_grad: int | None = None


def arrived_at(
    gradient: torch.Tensor, size: GradientSize, old: torch.Tensor | None = None
) -> Arrived:
    """What is kept of a gradient; `old` is the .grad of its tensor.

    >>> arrived_at(torch.tensor([0.0, 1.0, 2.0]), GradientSize(3, 2, 3.0)).zeros
    tensor([ True, False, False])
    """
    if gradient.layout is not torch.strided or not size.finite:
        return Arrived(size)
    gradient = gradient.detach()
    zeros = gradient == 0 if 0 < size.nonzero < size.total else None
    dense = old is not None and old.layout is torch.strided
    return Arrived(size, zeros, _times_in(old, gradient) if dense else None)


def _times_in(old, gradient):
    """How many times backward() has added this gradient to .grad, from 2 to 100; else None."""
    corner = (slice(CORNER),) * gradient.dim()  # nearly always decides
    times = _times(old[corner], gradient[corner])
    if times is not None and max(gradient.shape, default=0) > CORNER:
        times = _times(old, gradient)
    return times or None


def _times(old, gradient):
    """The number that old / gradient is everywhere; None if there is none, 0 without elements."""
    nonzero = gradient != 0
    ratio = old[nonzero] / gradient[nonzero]
    if not ratio.numel():
        return 0
    if ratio.is_complex() or not bool(ratio.isfinite().all()):
        return None
    times = round(ratio.median().item())  # a scaled loss gives far more
    same = 2 <= times <= 100 and torch.allclose(ratio, torch.full_like(ratio, times), 1e-3)
    return times if same else None
