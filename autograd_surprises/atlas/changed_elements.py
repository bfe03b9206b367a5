"""The elements of a step of backward whose gradient another version changes, and what follows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from autograd_surprises.atlas.changed_points import ChangedPoint
from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.numerics import few_digits


@dataclass(frozen=True, eq=False)
class ChangedElements:
    """The elements of one input of a step that are at points with the same two gradients.

    input      the number of the input
    name       what the step calls it: "self"
    places     what it is there: "min", "3"
    gradients  before and after
    here       which elements
    doubtful   of these, elements at two points at once, which nobody measured
    """

    step: BackwardStep
    input: int
    name: str
    places: tuple[str, ...]
    gradients: tuple[float, float]
    here: torch.Tensor
    doubtful: int

    @cached_property
    def count(self) -> int:
        return int(self.here.sum())

    def is_confirmed(self, version: int) -> bool:
        """Has the installed torch, the version of this number, the measured gradient there?

        It is asked on this device, with these numbers, for an upstream gradient of 1.
        """
        meta = self.step.node._input_metadata[0]
        mine = self.leaving(torch.ones(meta.shape, dtype=meta.dtype, device=meta.device))[self.here]
        measured = torch.full_like(mine, self.gradients[version])
        return torch.allclose(mine, measured, rtol=1e-3, atol=1e-6, equal_nan=True)

    def leaving(self, arriving: torch.Tensor) -> torch.Tensor:
        """The gradient of this input, before it is summed up for one that was broadcast."""
        gradients = self.step.node(arriving)
        return gradients[self.input] if isinstance(gradients, tuple) else gradients


def changed_elements(step: BackwardStep, points: Iterable[ChangedPoint]) -> list[ChangedElements]:
    """Where a step is at changed points, also if no element is there.

    >>> x = torch.tensor([1.0, 0.5, -3.0], requires_grad=True)
    >>> point = ChangedPoint(0, "self", "1", "max", {}, {"float32": (1.0, 0.0)})
    >>> (found,) = changed_elements(BackwardStep(x.clamp(-1, 1).grad_fn), [point])
    >>> found.here
    tensor([ True, False, False])
    """
    groups: dict[tuple, list[tuple[ChangedPoint, torch.Tensor]]] = {}
    for point in points:
        if step.edges[point.input][0] is None:
            continue
        if point.name not in step.saved:
            raise ValueError(f"what {step.operation} keeps for backward cannot be read")
        x = step.saved[point.name]
        pair = point.gradients(x)
        here = point.elements(step.saved) if pair and x.is_floating_point() else None
        if here is not None:
            key = point.input, *map(few_digits, pair)  # NaN is not NaN, but "nan" is "nan"
            groups.setdefault(key, []).append((point, here))
    found = []
    for parts in groups.values():
        ties = torch.stack([here for point, here in parts if point.equals] or [parts[0][1]])
        here = torch.stack([here for _, here in parts]).any(0)
        first, places = parts[0][0], tuple(point.place for point, _ in parts)
        pair, twice = first.gradients(step.saved[first.name]), int((ties.sum(0) > 1).sum())
        found.append(ChangedElements(step, first.input, first.name, places, pair, here, twice))
    return found


def gradients_of(
    backward: Backward,
    loss: torch.Tensor,
    weights: torch.Tensor | None,
    leaves: Sequence[torch.Tensor],
    changed: Iterable[ChangedElements] = (),
    version: int = 0,
) -> tuple[torch.Tensor | None, ...]:
    """The gradients of these leaves, with those of one version at the changed elements."""
    handles = [each.step.node.register_hook(_replacing(each, version)) for each in changed]
    try:
        with backward.unnoticed():
            return torch.autograd.grad(loss, leaves, weights, retain_graph=True, allow_unused=True)
    finally:
        for handle in handles:
            handle.remove()


def _replacing(each, version):
    factor = each.gradients[version]

    def replace(left, arrived):
        old, gradient = left[each.input], arrived[0]
        if old is None or gradient is None:
            return None
        all_of_it = old if old.shape == each.here.shape else each.leaving(gradient)
        changed = gradient * factor if factor else torch.zeros_like(gradient)
        new = all_of_it.where(~each.here, changed).sum_to_size(old.shape)
        return *left[: each.input], new, *left[each.input + 1 :]

    return replace
