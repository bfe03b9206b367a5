"""A patient is a function with a gradient problem, beside the right diagnosis and a cured twin."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

PATIENTS: dict[str, "Patient"] = {}
CURED: dict[str, Callable[[], "Visit"]] = {}


@dataclass(frozen=True)
class Visit:
    """What a patient brings: the arguments of explain()."""

    loss: torch.Tensor
    wrt: dict[str, torch.Tensor] | nn.Module | torch.optim.Optimizer
    model: nn.Module | None = None
    optimizer: torch.optim.Optimizer | None = None
    grad_outputs: torch.Tensor | None = None

    def tensors(self):
        if isinstance(self.wrt, nn.Module):
            return list(self.wrt.parameters())
        if isinstance(self.wrt, torch.optim.Optimizer):
            return [tensor for group in self.wrt.param_groups for tensor in group["params"]]
        return list(self.wrt.values())

    def backward(self):
        self.loss.backward(self.grad_outputs)


@dataclass(frozen=True)
class Patient:
    name: str
    title: str
    status: str
    said: str  # the status that the doctor can give: the same, unless nobody could know
    causes: tuple[str, ...]  # slugs; more than one where more than one is true
    function: Callable[[], Visit]
    file: str
    guilty: frozenset[int]  # numbers of the lines with the comment  #!


def patient(title, *, status, cause, said=None):
    """Register a function as a patient of its name. `cause` is a slug, or a tuple of slugs."""

    def register(function):
        lines, first = inspect.getsourcelines(function)
        PATIENTS[function.__name__] = Patient(
            name=function.__name__,
            title=title,
            status=status,
            said=said or status,
            causes=(cause,) if isinstance(cause, str) else cause,
            function=function,
            file=inspect.getsourcefile(function),
            guilty=frozenset(n for n, line in enumerate(lines, first) if "#!" in line),
        )
        return function

    return register


def cured(name):
    """Register a function as the cured twin of the patient of this name."""

    def register(function):
        if name not in PATIENTS or name in CURED:
            raise ValueError(f"{function.__name__} cures {name!r}: no such patient, or cured twice")
        CURED[name] = function
        return function

    return register
