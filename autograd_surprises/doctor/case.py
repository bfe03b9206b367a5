"""One loss and what is known of it, and how a step of backward is told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import nn

from autograd_surprises.doctor.backward import Backward, Sum
from autograd_surprises.doctor.finding import Finding
from autograd_surprises.doctor.history import History
from autograd_surprises.doctor.reasons import Row, reason
from autograd_surprises.doctor.report import finding
from autograd_surprises.doctor.steps import Step


@dataclass
class Case:
    """One loss, its watched backward, what is known of its forward pass, names of tensors.

    born  the finding about inf or NaN of the forward pass, once it was looked for
    tiny  step -> the finding of the first tensor whose tiny gradient came through it
    """

    loss: torch.Tensor
    backward: Backward | None
    history: History | None
    names: dict[int, str]
    model: nn.Module | None
    born: list[Finding | None] = field(default_factory=list)
    tiny: dict[Step, Finding] = field(default_factory=dict)
    _reasons: dict = field(default_factory=dict)

    def name(self, tensor: torch.Tensor, i: int = 0) -> str:
        return self.names.get(id(tensor), f"leaf {i} of shape {tuple(tensor.shape)}")

    def place(self, step: Step, label: str = "at") -> tuple:
        return ((label, self.history.line_of(step.node) if self.history else None),)

    @property
    def leaves(self) -> list[torch.Tensor]:
        return self.backward.leaves if self.backward else []

    @cached_property
    def entered(self) -> float:
        """The mass of the gradient that enters the graph at the loss."""
        return sum(amount.mass for amount in self.backward.root.arriving if amount)

    @cached_property
    def leaves_by_memory(self) -> dict[tuple, torch.Tensor]:
        return {memory(leaf): leaf for leaf in self.leaves}

    @cached_property
    def steps_by_constant(self) -> dict[tuple, Step]:
        """Memory of a constant that a step keeps -> that step."""
        steps = self.backward.steps.values() if self.backward else ()
        return {
            memory(kept): step
            for step in steps
            for kept in step.tensors().values()
            if not kept.requires_grad
        }

    @cached_property
    def leaves_by_shape(self) -> dict[tuple, list[torch.Tensor]]:
        """Leaves that are no parameters of the model."""
        mine = {id(p) for p in self.model.parameters()} if self.model is not None else set()
        found: dict[tuple, list[torch.Tensor]] = {}
        for leaf in self.leaves:
            if id(leaf) not in mine:
                found.setdefault(tuple(leaf.shape), []).append(leaf)
        return found

    def reason(self, step: Step, table: tuple[Row, ...]) -> tuple[str, str, dict[str, str]]:
        key = step, id(table)
        if key not in self._reasons:
            cause, detail, names = reason(step, table)
            call = self.history and self.history.call_of(step.node)
            if cause == "zero-factor" and call and call.name == "dropout":
                cause = "dropout"
            self._reasons[key] = cause, detail, names
        return self._reasons[key]


def memory(tensor: torch.Tensor) -> tuple[int, int]:
    """Where its numbers lie, and how many; nothing else has that, unless it is a view of them."""
    try:
        pointer = tensor.data_ptr()
    except (RuntimeError, NotImplementedError):  # a tensor without storage
        pointer = 0
    return (pointer or -id(tensor)), tensor.numel()


def first_step(origins: list[Step | Sum]) -> Step | None:
    """The first origin that is a step."""
    return next((origin for origin in origins if isinstance(origin, Step)), None)


def in_and_out(case: Case, step: Step) -> str:
    """What arrived at a step and what left it: "RoundBackward0: 2 of 3 in, 0 of 3 out"."""
    call = case.history and case.history.call_of(step.node)
    name = call.short_name if call and not call.function else ""
    part = "" if name.replace("_", "") in step.name.lower() else f", part of {name}()"
    arrived = ", ".join(amount.in_words() for amount in step.arriving if amount)
    left = ", ".join(amount.in_words() for amount in step.leaving if amount) or "nothing"
    return f"{step.name}{part}: {arrived} in, {left} out"


def because(
    case: Case, name: str, status: str, step: Step, table: tuple[Row, ...], node, also=(), places=()
) -> Finding:
    """A finding in the words of the reason that fits the step.

    >>> x = torch.tensor([0.2, 1.7], requires_grad=True)
    >>> explain(x.round().sum(), {"x": x})["x"].node
    'died in RoundBackward0: 2 of 2 in, 0 of 2 out'
    """
    cause, detail, names = case.reason(step, table)
    found = finding(name, status, cause, (*places, *case.place(step)), node, also, **names)
    return replace(found, sentence=detail + found.sentence)
