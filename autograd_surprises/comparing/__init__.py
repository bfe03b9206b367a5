"""Two runs of one model: whose gradients differ by more than rounding, and why."""
