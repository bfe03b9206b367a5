"""Two runs of one model: whose gradients differ by more than rounding, where, and why."""

from autograd_surprises.comparing.two_steps import compare

__all__ = ["compare"]
