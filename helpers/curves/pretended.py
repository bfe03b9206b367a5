"""The function that a gradient pretends to belong to."""

from __future__ import annotations

import torch

from helpers.curves.numbers import GradientCurve


def pretended_values(curve: GradientCurve) -> torch.Tensor:
    """A function whose slope is the gradient: its integral, with the mean of the value.

    >>> from helpers.curves.numbers import gradient_curve
    >>> ramp = gradient_curve(lambda x: x + (x.round() - x).detach(), x=(-2, 2))
    >>> torch.allclose(pretended_values(ramp), ramp.x, atol=1e-3)
    True
    """
    summed = torch.cumulative_trapezoid(curve.grad / curve.grad_output, curve.x)
    summed = torch.cat([summed.new_zeros(1), summed])
    length = curve.x[-1] - curve.x[0]
    return summed + torch.trapezoid(curve.y - summed, curve.x) / length
