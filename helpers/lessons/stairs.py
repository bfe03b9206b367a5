"""A staircase, and a ball that goes down by gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from helpers.functions import step

EDGES = torch.tensor([-2.0, 0.0, 1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
RISES = torch.tensor([-6.0, 1.0, 1.0, 1.0, 1.0, 1.0], dtype=torch.float64)  # at the edges
BOTTOM = -2.0, 0.0  # the lowest stair goes from one to just before the other
STEPS, LEARNING_RATE = 40, 1.0


def height(x: torch.Tensor, surrogate: str = "triangle", width: float = 1.0) -> torch.Tensor:
    """The height of the stairs at x: a wall, the bottom from -2 to 0, and a stair up at 0 to 4.

    Its gradient is that of `helpers.functions.step` with this surrogate and width.

    >>> height(torch.tensor([-3.0, -1.0, 2.5], dtype=torch.float64))
    tensor([6., 0., 3.], dtype=torch.float64)
    """
    rises = step(x[..., None] - EDGES, surrogate, width) * RISES
    return rises.sum(-1) - RISES[0]


def default_height(x: torch.Tensor) -> torch.Tensor:
    """The same height by floor and clamp, with torch's own gradient: 0 everywhere.

    >>> default_height(torch.tensor(2.5, dtype=torch.float64))
    tensor(3., dtype=torch.float64)
    """
    rises = torch.floor(x[..., None] - EDGES).clamp(-1, 0) + 1
    return (rises * RISES).sum(-1) - RISES[0]


def descend(fn: Callable, start: float, steps: int = STEPS) -> torch.Tensor:
    """The way of gradient descent with a learning rate of 1: start and the point after each step.

    >>> descend(lambda x: 0.25 * x**2, 1.0, steps=2)
    tensor([1.0000, 0.5000, 0.2500], dtype=torch.float64)
    """
    way = [torch.tensor(start, dtype=torch.float64)]
    for _ in range(steps):
        x = way[-1].clone().requires_grad_()
        (grad,) = torch.autograd.grad(fn(x), x)
        way.append(way[-1] - LEARNING_RATE * grad)
    return torch.stack(way)


@dataclass(frozen=True)
class Outcome:
    """What became of a ball.

    kind   "stays", "bottom" (it rests there), "elsewhere" (it rests, but not there) or "restless"
    end    where it was last
    steps  how many were made
    first  the step with which it first came to the bottom, or None
    """

    kind: str
    end: float
    steps: int
    first: int | None

    def __str__(self):
        end = f"{round(self.end, 2) + 0.0:g}"  # no -0
        if self.kind == "bottom":
            steps = "1 step" if self.first == 1 else f"{self.first} steps"
            return f"reaches the bottom in {steps}, and rests at {end}"
        return {
            "stays": f"stays at {end}",
            "elsewhere": f"rests at {end}, which is not the bottom",
            "restless": f"has not come to rest after {self.steps} steps",
        }[self.kind]


def outcome(way: torch.Tensor) -> Outcome:
    """What became of a ball that went this way. It rests if its last steps are short.

    >>> print(outcome(torch.tensor([4.5, 4.5, 4.5])))
    stays at 4.5
    """
    at_bottom = ((BOTTOM[0] <= way) & (way < BOTTOM[1])).tolist()
    first = at_bottom.index(True) if any(at_bottom) else None
    late = way[-10:]
    if (way == way[0]).all():
        kind = "stays"
    elif late.max() - late.min() > 0.05:
        kind = "restless"
    else:
        kind = "bottom" if at_bottom[-1] else "elsewhere"
    return Outcome(kind, way[-1].item(), len(way) - 1, first)
