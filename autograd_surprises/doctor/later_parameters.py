"""Parameters that appear after the first step, and that no optimizer holds."""

from weakref import ref

import torch
from torch import nn

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.recording.living import living
from autograd_surprises.recording.modules import named_parameters_in, parameters_in, parts_of
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.loops import NEW_AND_NOT_HELD


class LaterParameters:
    """Sees layers that were replaced during training.

    What proves it: the parameter is a part of the model, was not one when this began to look, has
    a gradient other than 0, and is in no group of any optimizer that exists.

    >>> model, later = nn.Sequential(nn.Linear(2, 2)), LaterParameters()
    >>> later.know(model)
    >>> model[0] = nn.Linear(2, 1)
    >>> model(torch.ones(2)).sum().backward()
    >>> [found.name for found in later.look()]
    ['0.weight', '0.bias']
    """

    def __init__(self):
        self._models: dict[str, ref] = {}
        self._before: list[ref] = []
        self._held: dict[int, set[int]] = {}  # by id of an optimizer, in its latest step

    def know(self, model: nn.Module | None) -> None:
        """This is about to be trained."""
        for name, part in parts_of(model):
            if name not in self._models:
                self._models[name] = ref(part)
                self._before += map(ref, parameters_in(part))

    def after_step(self, optimizer: torch.optim.Optimizer, held: set[int]) -> None:
        """It holds these ids; in the end, it may be gone."""
        self._held[id(optimizer)] = held

    def look(self) -> list[Finding]:
        """The findings about what has appeared since."""
        alive = {id(p) for p in (each() for each in self._before) if p is not None}
        new = []
        for name, known in self._models.items():
            part = known()
            for path, p in named_parameters_in(part) if part is not None else ():
                if id(p) not in alive and p.requires_grad and p.grad is not None:
                    new.append((f"{name}.{path}".strip("."), p))
        if not new:
            return []
        (optimizers,) = living(torch.optim.Optimizer)
        held = {id(p) for optimizer in optimizers for p in parameters_of(optimizer)}
        held = held.union(*self._held.values())
        new = [(name, p) for name, p in new if id(p) not in held]
        sizes = norms([p for _, p in new])
        found = [name for (name, _), size in zip(new, sizes, strict=True) if size]
        return [NEW_AND_NOT_HELD.finding().about(name, "not trained") for name in found]
