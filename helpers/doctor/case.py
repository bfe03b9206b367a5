"""One loss and what is known of it, and how a step of backward is told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn

from helpers.doctor.backward import Backward, Step, Sum
from helpers.doctor.history import History
from helpers.doctor.reasons import Row, reason
from helpers.doctor.report import Finding, finding


@dataclass(frozen=True)
class Case:
    """One loss, its watched backward, what is known of its forward pass, names of tensors."""

    loss: torch.Tensor
    backward: Backward | None
    history: History | None
    names: dict[int, str]
    model: nn.Module | None

    def name(self, tensor: torch.Tensor, i: int = 0) -> str:
        return self.names.get(id(tensor), f"leaf {i} of shape {tuple(tensor.shape)}")

    def place(self, step: Step, label: str = "at") -> tuple:
        return ((label, self.history.line_of(step.node) if self.history else None),)

    def leaves(self) -> list[torch.Tensor]:
        return self.backward.leaves if self.backward else []


def first_step(origins: list[Step | Sum]) -> Step | None:
    """The first origin that is a step."""
    return next((origin for origin in origins if isinstance(origin, Step)), None)


def in_and_out(case: Case, step: Step) -> str:
    """What arrived at a step and what left it: "RoundBackward0: 2/3 in, 0/3 out"."""
    call = case.history and case.history.call_of(step.node)
    name = call.short_name if call and not call.function else ""
    part = "" if name.replace("_", "") in step.name.lower() else f", part of {name}()"
    arrived = ", ".join(str(amount) for amount in step.arriving if amount)
    left = ", ".join(str(amount) for amount in step.leaving if amount) or "nothing"
    return f"{step.name}{part}: {arrived} in, {left} out"


def because(
    case: Case, name: str, status: str, step: Step, table: tuple[Row, ...], node, also=(), places=()
) -> Finding:
    """A finding in the words of the reason that fits the step.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> explain(x.round().sum(), {"x": x})["x"].node
    'died in RoundBackward0: 2/2 in, 0/2 out'
    """
    cause, detail, names = reason(step, table)
    call = case.history and case.history.call_of(step.node)
    if cause == "zero-factor" and call and call.name == "dropout":
        cause = "dropout"
    found = finding(name, status, cause, (*places, *case.place(step)), node, also, **names)
    return replace(found, sentence=detail + found.sentence)
