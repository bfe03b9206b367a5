"""One loss, its watched backward, its recorded forward pass, and the names of its tensors."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import nn
from torch.autograd import grad as gradients  # as it was before a user wrapped it

from autograd_surprises.backward.steps import (
    BackwardStep,
    GradientSize,
    memory,
    numbers_of,
    size_of,
)
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.recording.history import History
from autograd_surprises.recording.modules import own_parameters, parameters_in
from autograd_surprises.symptoms.finding import Finding
from autograd_surprises.symptoms.forward_rules import NAN_LEAF
from autograd_surprises.symptoms.nonfinite_forward import first_nonfinite
from autograd_surprises.symptoms.rule import Rulebook
from autograd_surprises.symptoms.where_it_went import Destinations

NEAR = 20  # how many steps above a tensor are searched for what blocks a part of its gradient
SCALE = 2.0**16  # what torch.amp.GradScaler starts with


@dataclass
class Examination:
    """One loss, its watched backward, its recorded forward pass, and names of tensors.

    backward  None for a loss without a graph
    history   of the forward pass; if it was not recorded, an empty one
    recorded  was it recorded?
    named     the names of the tensors that the user's variables hold, and the tensors
    optimizer  the one that was given
    asked     by name, or with a whole model?
    tiny      (step, what left it) -> the finding of the first tensor whose gradient got tiny there

    >>> x = torch.ones(2, requires_grad=True)
    >>> loss = x.sum()
    >>> backward = Backward(loss.grad_fn)
    >>> exam = Examination(loss, backward, History(), False, {id(x): "x"}, None)
    >>> exam.name(exam.leaves[0])
    'x'
    """

    loss: torch.Tensor
    backward: Backward | None
    history: History
    recorded: bool
    names: dict[int, str]
    model: nn.Module | None
    named: list[tuple[str, torch.Tensor]] = field(default_factory=list)
    optimizer: torch.optim.Optimizer | None = None
    asked: bool = True
    tiny: dict[tuple[BackwardStep, GradientSize], Finding] = field(default_factory=dict)
    _found: dict = field(default_factory=dict)

    def __post_init__(self):
        for step in self.backward.steps.values() if self.backward else ():
            call = self.history.call_of(step.node)
            if call is not None:
                step.where = call.node_line
                step.called = "" if call.function else call.operation

    def name(self, tensor: torch.Tensor, i: int = 0) -> str:
        return self.names.get(id(tensor), f"leaf {i} of shape {tuple(tensor.shape)}")

    def why(self, step: BackwardStep, rules: Rulebook) -> Finding:
        """The first rule that fits a step, reported once for all tensors that it concerns."""
        key = step, id(rules)
        if key not in self._found:
            self._found[key] = rules.first(step).finding(step)
        return self._found[key]

    @cached_property
    def held(self) -> set[int]:
        """The ids of what the optimizer holds."""
        groups = self.optimizer.param_groups if self.optimizer is not None else ()
        return {id(p) for group in groups for p in group["params"]}

    def leaves_out(self, leaf: torch.Tensor) -> bool:
        """Does the optimizer, which trains other tensors with this loss, not hold this one?"""
        known = self.optimizer is not None and id(leaf) not in self.held
        return known and any(self.trains(other) for other in self.leaves)

    @cached_property
    def only_frozen(self) -> set[int]:
        """The ids of frozen parameters that are all of a model, or of a group of the optimizer."""
        groups = self.optimizer.param_groups if self.optimizer is not None else ()
        together = [group["params"] for group in groups]
        together += [parameters_in(self.model)] if self.model is not None else []
        return {id(p) for some in together if not any(p.requires_grad for p in some) for p in some}

    @cached_property
    def picked(self) -> set[int]:
        """The ids of frozen parameters that the optimizer holds, without the others beside them."""
        found: set[int] = set()
        parts = list(self.model.children()) if self.model is not None and self.held else []
        for module in (m for part in parts for m in part.modules()):
            frozen = {id(p) for p in parameters_in(module) if not p.requires_grad}
            found |= frozen & self.held if frozen - self.held else set()
        return found

    def reaches(self, leaf: torch.Tensor) -> bool:
        """Does it get a gradient that is not 0?"""
        gradient = self.backward.grads.get(id(leaf)) if self.backward else None
        return gradient is not None and bool(gradient.size.nonzero)

    def trains(self, leaf: torch.Tensor) -> bool:
        """The same, and will the optimizer use it?"""
        return (self.optimizer is None or id(leaf) in self.held) and self.reaches(leaf)

    @property
    def leaves(self) -> list[torch.Tensor]:
        return self.backward.leaves if self.backward else []

    @cached_property
    def entered(self) -> float:
        """The sum of |g| of the gradient that enters the graph at the loss."""
        return sum(size.l1 for size in self.backward.root.arriving if size)

    @cached_property
    def scaled(self) -> dict[int, GradientSize]:
        """The gradients of a loss SCALE times as large, where float16 may have rounded them to 0.

        By id of the leaf; empty where no float16 is in the graph, or it does not run twice.
        """
        walked = self.backward
        if torch.float16 not in {dtype for _, dtype, _ in walked.like.values()}:
            return {}
        sizes = {key: arrived.size for key, arrived in walked.grads.items()}
        few = {key for key, size in sizes.items() if 2 * size.nonzero < size.total}
        leaves = [leaf for leaf in self.leaves if id(leaf) in few]
        if not leaves or not walked.may_run_again:
            return {}
        weights = torch.ones_like(self.loss) if walked.weights is None else walked.weights
        try:
            with walked.unnoticed():
                found = gradients(self.loss, leaves, SCALE * weights, retain_graph=True)
        except Exception:  # as in noise.sent()
            return {}
        return {id(leaf): size_of(g) for leaf, g in zip(leaves, found, strict=True)}

    @cached_property
    def destinations(self) -> Destinations:
        """Where each tensor went."""
        return Destinations(self.history, self.loss, self.backward)

    @cached_property
    def first_nonfinite(self) -> Finding | None:
        """The finding about the first inf or NaN of the forward pass, if there is one."""
        for i, leaf in enumerate(self.leaves):
            if bool(numbers_of(leaf).isnan().any()):
                found = NAN_LEAF.finding(name=self.name(leaf, i))
                return found.about("", "", (("written at", self.history.written_at(leaf)),))
        return first_nonfinite(self.loss, self.backward, self.history, self.named)

    @cached_property
    def leaves_by_memory(self) -> dict[tuple, torch.Tensor]:
        return {memory(leaf): leaf for leaf in self.leaves}

    @cached_property
    def steps_by_constant(self) -> dict[tuple, BackwardStep]:
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
        """Leaves that are not parameters of the model."""
        mine = {id(p) for p in parameters_in(self.model)} if self.model is not None else set()
        found: dict[tuple, list[torch.Tensor]] = {}
        for leaf in self.leaves:
            if id(leaf) not in mine:
                found.setdefault(tuple(leaf.shape), []).append(leaf)
        return found

    def used_instead_of(self, tensor: torch.Tensor) -> str:
        """The path of the last layer of the model, if a layer like it was set, but is not used.

        As where `model.fc = nn.Linear(8, 2)` meets a model whose last layer is called `head`.
        """
        children = list(self.model.named_children()) if self.model is not None else []
        added, layer = children[-1] if len(children) > 1 else ("", None)
        if layer is None or all(p is not tensor for p in own_parameters(layer)):
            return ""
        makers = [vars(kind).get("__init__") for kind in type(self.model).__mro__]
        if any(added in maker.__code__.co_names for maker in makers if hasattr(maker, "__code__")):
            return ""  # the model's own class made it
        used = {
            id(m.weight): (path, m)
            for path, m in self.model.named_modules()
            if type(m) is type(layer) and isinstance(getattr(m, "weight", None), torch.Tensor)
        }
        last = next((used[id(leaf)] for leaf in self.leaves if id(leaf) in used), None)
        alike = last and last[1].weight.shape[1:] == layer.weight.shape[1:]
        return last[0] if alike and added != last[0] else ""
