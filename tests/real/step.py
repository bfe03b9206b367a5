"""One training step of a real model: a healthy one, or one with a bug from a thread."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn


@dataclass(frozen=True)
class Step:
    """What a training script holds when it calls loss.backward()."""

    model: nn.Module
    compute: Callable[[], torch.Tensor]  # runs the forward pass and returns the loss
    optimizer: torch.optim.Optimizer | None = None


@dataclass(frozen=True)
class Healthy:
    """A training step with nothing wrong, and how it is usually written."""

    name: str
    library: str
    source: str  # the example or the documentation that it follows: an address
    build: Callable[[], Step]
    true: frozenset[tuple[str, str]]  # (status, cause) of alarms that are true of it


@dataclass(frozen=True)
class Bug:
    """A training step with one fault that somebody reported."""

    name: str
    library: str
    thread: str  # where it was reported: an address
    causes: tuple[str, ...]  # slugs; more than one where more than one is true
    build: Callable[[], Step]
    file: str
    guilty: frozenset[int]  # numbers of the lines with the comment  #!
    also: tuple[str, ...]  # slugs that are true of it, too: consequences of the fault
    missed: str  # why the doctor does not find it, or says something else beside it, or ""


HEALTHY: dict[str, Healthy] = {}
BUGS: dict[str, Bug] = {}


def healthy(library: str, source: str, true=()):
    """Register a function that builds a healthy step. The function is called within a fixed seed.

    `true` names alarms that are true of the step as its authors wrote it: {("zero", "slug"), ...}.
    """

    def register(build):
        _new(build, HEALTHY)
        HEALTHY[build.__name__] = Healthy(build.__name__, library, source, build, frozenset(true))
        return build

    return register


def bug(library: str, thread: str, causes, also=(), missed=""):
    """Register a function that builds a step with a fault; the comment  #!  marks the guilty line.

    The line is marked where somebody has to edit it. If two lines are equally right, mark both.
    What the doctor is known to miss stands here with its reason; it has to go once it is found.
    """

    def register(build):
        _new(build, BUGS)
        lines, first = inspect.getsourcelines(build)
        guilty = frozenset(n for n, line in enumerate(lines, first) if "#!" in line)
        causes_ = (causes,) if isinstance(causes, str) else tuple(causes)
        file = str(Path(inspect.getsourcefile(build)).resolve())
        BUGS[build.__name__] = Bug(
            build.__name__, library, thread, causes_, build, file, guilty, tuple(also), missed
        )
        return build

    return register


def _new(build, register):
    if build.__name__ in register:
        raise ValueError(f"two steps are called {build.__name__}")
