"""What changes in a model while it is trained: its mode, and layers that are replaced."""

from weakref import ref

import torch
from torch import nn

from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.trained import parameters_of
from autograd_surprises.doctor.watch.witness import Step, Told, Witness
from autograd_surprises.recording.modules import (
    living,
    named_parameters_in,
    parameters_in,
    parts_of,
)
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.loops import NEW_AND_NOT_HELD, STAYS_IN_EVAL_MODE

STEPS = 3  # in a row, after which a change of mode is no accident of one step


class Modes(Witness):
    """Sees models whose mode changes what they compute, and that are not switched back.

    What proves it: the flags of the modules, before and in three steps of what holds their
    parameters. Whether it is meant cannot be seen.
    """

    def __init__(self):
        self._models: dict[str, ref] = {}
        self._since: dict[str, int] = {}  # the first step in eval mode

    def trains(self, step: Step, model):
        for name, part in parts_of(model):
            if part.training and any(map(_has_two_modes, part.modules())):
                self._models.setdefault(name, ref(part))

    def after_step(self, step: Step):
        for name, known in list(self._models.items()):
            part = known()
            if part is None:
                del self._models[name]
            elif step.ids.isdisjoint(map(id, parameters_in(part))):
                continue
            elif part.training or any(m.training for m in part.modules() if _has_two_modes(m)):
                self._since.pop(name, None)
            elif step.number >= self._since.setdefault(name, step.number) + STEPS - 1:
                del self._models[name]
                called, since = name or "model", self._since[name]
                found = STAYS_IN_EVAL_MODE.finding(name=called, step=since).about(called, "wrong")
                yield Told("the model trains in eval mode", [found])
                return


def _has_two_modes(module):
    kinds = nn.modules.dropout._DropoutNd, nn.RNNBase
    if isinstance(module, kinds):
        return bool(getattr(module, "p", 0) or getattr(module, "dropout", 0))
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats


class LaterParameters(Witness):
    """Sees layers that were replaced during training: after steps 2, 4, 8, ..., and at the end.

    What proves it: the parameter is a part of the model, was not one when this began to look, has
    a gradient other than 0, and is in no group of any optimizer that exists. What is trained by
    hand looks the same.

    >>> model, later = nn.Sequential(nn.Linear(2, 2)), LaterParameters()
    >>> later.trains(None, model)
    >>> model[0] = nn.Linear(2, 1)
    >>> model(torch.ones(2)).sum().backward()
    >>> [found.name for found in later.new()]
    ['0.weight', '0.bias']
    """

    def __init__(self):
        self._models: dict[str, ref] = {}
        self._before: list[ref] = []
        self._held: dict[int, set[int]] = {}  # by id of an optimizer, in its latest step
        self._told = False

    def trains(self, step: Step, model):
        for name, part in parts_of(model):
            if name not in self._models:
                self._models[name] = ref(part)
                self._before += map(ref, parameters_in(part))

    def after_step(self, step: Step):
        self._held[id(step.optimizer)] = step.ids  # in the end, it may be gone
        return self.at_the_end(step) if step.number & (step.number - 1) == 0 else ()

    def at_the_end(self, step: Step):
        found = self.new() if step.number > 1 and not self._told else []
        self._told = self._told or bool(found)
        return [Told("a layer was replaced", found)] if found else ()

    def new(self) -> list[Finding]:
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
