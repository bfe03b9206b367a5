"""A healthy training step is a function that builds it, beside what the doctor may say of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

HEALTHY: dict[str, "Healthy"] = {}


class Step(NamedTuple):
    """What a training script holds when it calls loss.backward()."""

    model: nn.Module
    compute: Callable[[], torch.Tensor]  # runs the forward pass and returns the loss
    optimizer: torch.optim.Optimizer | None = None


@dataclass(frozen=True)
class Healthy:
    name: str
    library: str
    source: str  # the example or the documentation that it follows: an address, or ""
    build: Callable[[], Step]
    true: frozenset[tuple[str, str]]  # (status, cause) of alarms that are true of it
    normal: frozenset[tuple[str, str]]  # of what else is said, beside "ok" and "partial"


def healthy(library="torch", source="", *, true=(), normal=()):
    """Register a function that returns a model, a function that computes the loss, and perhaps an
    optimizer, as a healthy step. It is called within a fixed seed.
    """

    def register(function):
        name = function.__name__
        if name in HEALTHY:
            raise ValueError(f"two steps are called {name}")
        HEALTHY[name] = Healthy(
            name, library, source, lambda: Step(*function()), frozenset(true), frozenset(normal)
        )
        return function

    return register
