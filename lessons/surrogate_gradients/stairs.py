"""A staircase, and a ball that rolls down it by gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from autograd_surprises.numerics import short_number
from helpers.functions import step

EDGES = torch.tensor([-2.0, 0.0, 1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
RISES = torch.tensor([-6.0, 1.0, 1.0, 1.0, 1.0, 1.0], dtype=torch.float64)  # at the edges
BOTTOM = -2.0, 0.0  # the lowest stair goes from one to just before the other
STEPS, LEARNING_RATE = 40, 1.0


def height(x: torch.Tensor, surrogate: str = "triangle", width: float = 1.0) -> torch.Tensor:
    """The height of the stairs at x: a wall, the bottom from -2 to 0, a stair up at each of 0 to 4.

    Shape and dtype are those of x. The gradient is the sum of those of `helpers.functions.step`,
    one at each edge, with this surrogate and width.

    >>> height(torch.tensor([-3.0, -1.0, 2.5], dtype=torch.float64))
    tensor([6., 0., 3.], dtype=torch.float64)
    """
    rises = step(x[..., None] - EDGES, surrogate, width) * RISES
    return rises.sum(-1) - RISES[0]


def default_height(x: torch.Tensor) -> torch.Tensor:
    """The same height from floor and clamp, with torch's own gradient: 0 everywhere.

    >>> default_height(torch.tensor(2.5, dtype=torch.float64))
    tensor(3., dtype=torch.float64)
    """
    rises = torch.floor(x[..., None] - EDGES).clamp(-1, 0) + 1
    return (rises * RISES).sum(-1) - RISES[0]


def gradient_descent(fn: Callable, start: float, steps: int = STEPS) -> torch.Tensor:
    """The path of gradient descent, x - fn'(x) in each step: a float64 tensor of steps + 1 points.

    >>> gradient_descent(lambda x: 0.25 * x**2, 1.0, steps=2)
    tensor([1.0000, 0.5000, 0.2500], dtype=torch.float64)
    """
    path = [torch.tensor(start, dtype=torch.float64)]
    for _ in range(steps):
        x = path[-1].clone().requires_grad_()
        (grad,) = torch.autograd.grad(fn(x), x)
        path.append(path[-1] - LEARNING_RATE * grad)
    return torch.stack(path)


@dataclass(frozen=True)
class Outcome:
    """Where a ball ended.

    kind   "stays", "bottom" (it rests there), "elsewhere" (it rests, but not there) or "oscillates"
    end    its last point
    steps  how many it made
    first  the step that first took it to the bottom, or None

    >>> print(Outcome.of(torch.tensor([4.5, 4.5, 4.5])))
    stays at 4.5
    """

    kind: str
    end: float
    steps: int
    first: int | None

    @classmethod
    def of(cls, path: torch.Tensor) -> Outcome:
        """The outcome of a path, shape (steps + 1,). The ball rests if its last steps are short."""
        at_bottom = ((BOTTOM[0] <= path) & (path < BOTTOM[1])).tolist()
        first = at_bottom.index(True) if any(at_bottom) else None
        late = path[-10:]
        if (path == path[0]).all():
            kind = "stays"
        elif late.max() - late.min() > 0.05:
            kind = "oscillates"
        else:
            kind = "bottom" if at_bottom[-1] else "elsewhere"
        return cls(kind, path[-1].item(), len(path) - 1, first)

    def __str__(self):
        end = short_number(self.end, decimals=2)
        if self.kind == "bottom":
            steps = "1 step" if self.first == 1 else f"{self.first} steps"
            return f"reaches the bottom in {steps}, and rests at {end}"
        return {
            "stays": f"stays at {end}",
            "elsewhere": f"rests at {end}, which is not the bottom",
            "oscillates": f"has not come to rest after {self.steps} steps",
        }[self.kind]
