"""The first operation of backward at which two steps part."""

from collections.abc import Container
from dataclasses import dataclass
from itertools import zip_longest

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.comparing.alignment import aligned
from autograd_surprises.comparing.distance import distance, last_digit, size
from autograd_surprises.comparing.watched_step import WatchedStep
from autograd_surprises.graph import Edge


@dataclass(frozen=True)
class FirstOperation:
    """Where the backward of two steps parts.

    kind     "operation": the same gradient arrives at both, and another one leaves; "shape": the
             result of the operation has another shape; "graph": these operations are in one of
             both only, or others; "hook": something changed the gradient between two operations
    in_a     the operations of step a, in the order of backward
    in_b     those of step b
    after    the gradients behind them that differ, and how large their rounding errors are
    behind   the operations of a and b that these arrive at; None for a parameter
    """

    kind: str
    in_a: tuple[BackwardStep, ...]
    in_b: tuple[BackwardStep, ...]
    after: tuple[torch.Tensor | None, torch.Tensor | None, float]
    behind: tuple[BackwardStep, BackwardStep] | None = None


class TwoBackwards:
    """The backwards of two steps, with their operations paired.

    exact     step a in float64, which tells how large its rounding errors are; or None
    scale     what to multiply the distance from it by
    relative  the usual relative error of a gradient, for operations that `exact` does not have
    """

    def __init__(self, a, b, exact: WatchedStep | None, scale: float, relative: float):
        self.a, self.b, self.scale, self.relative = a, b, scale, relative
        self.partners = partners(a, b)
        self._exact = partners(a, exact) if exact is not None else {}

    def first(self, parameter: torch.Tensor) -> FirstOperation:
        """Where they part, on the way to a parameter whose gradients differ.

        It goes up from the parameter along gradients that differ, to operations at which those
        that arrive do not.
        """
        edge, other_edge = (_leaf_edge(each, parameter) for each in (self.a, self.b))
        after = *(each.backward.kept.get(id(parameter)) for each in (self.a, self.b)), 0.0
        behind = None
        while True:
            pair = self._above_that_differs(edge, other_edge)
            if pair is None:
                return self._between(edge, other_edge, after, behind)
            step, other, leaving = pair
            for i, (mine, theirs, floor) in enumerate(self._triples(*pair[:2], "gradients_in")):
                arrived = mine, theirs, floor.largest
                if mine is not None and theirs is not None and mine.shape != theirs.shape:
                    return FirstOperation("shape", (step,), (other,), arrived)
                if self._differ(mine, theirs, floor):
                    edge, other_edge, after = (step.node, i), (other.node, i), arrived
                    behind = step, other
                    break
            else:
                return FirstOperation("operation", (step,), (other,), leaving)

    def _above_that_differs(self, edge, other_edge):
        """The first operation of both that leads to these edges, and sends other gradients there.

        What only one of them has may lie in between.
        """
        _, mine = _above(self.a, edge, self.partners)
        _, theirs = _above(self.b, other_edge, set(self.partners.values()))
        for step, k in mine.items():
            other = self.partners[step]
            if other in theirs:
                leaving = step.gradients_out[k], other.gradients_out[theirs[other]]
                exact = self._exact.get(step)
                floor = self._floor(leaving[0], exact.gradients_out[k] if exact else None)
                if self._differ(*leaving, floor):
                    return step, other, (*leaving, floor.largest)
        return None

    def _between(self, edge, other_edge, after, behind):
        """What only one of both has above an edge; if that is nothing, a hook changed it."""
        mine, _ = _above(self.a, edge, self.partners)
        theirs, _ = _above(self.b, other_edge, set(self.partners.values()))
        kind = "graph" if mine or theirs else "hook"
        return FirstOperation(kind, mine, theirs, after, behind)

    def _triples(self, step, other, which):
        """(gradient of a, of b, size of a's rounding error) for each gradient in or out."""
        exact = self._exact.get(step)
        lists = (getattr(each, which) if each is not None else [] for each in (step, other, exact))
        return [(x, y, self._floor(x, z)) for x, y, z in zip_longest(*lists)]

    def _floor(self, mine, exact):
        usual = size(mine) * self.relative
        if exact is not None and mine is not None and exact.shape == mine.shape:
            usual = usual.or_larger(distance(mine, exact) * self.scale)
        return usual.or_larger(last_digit(mine))

    def _differ(self, mine, theirs, floor):
        if mine is not None and theirs is not None and mine.shape != theirs.shape:
            return True
        return (mine is not None or theirs is not None) and distance(mine, theirs).beyond(floor)


def _leaf_edge(watched, leaf):
    steps = watched.backward.steps.values()
    return next((step.node for step in steps if step.leaf is leaf), None), 0


def partners(a: WatchedStep, b: WatchedStep) -> dict[BackwardStep, BackwardStep]:
    """The operations of two steps that belong together, in the order of backward."""
    return {a.ran[i]: b.ran[j] for i, j in aligned(a.keys, b.keys)}


def _above(watched: WatchedStep, edge: Edge, paired: Container[BackwardStep]):
    """What leads to this edge, in the order of backward.

    The operations without a partner up to those with one; and of these {operation: its edge}.
    """
    waiting, alone, tops = [edge], {}, {}
    for end in waiting:
        for step, k in watched.backward.into.get(end, ()):
            if step in paired:
                tops.setdefault(step, k)
            elif step not in alone and step.order is not None:
                alone[step] = None
                waiting += [(step.node, i) for i in range(len(step.arriving))]
    first = sorted(tops, key=lambda step: step.order)
    return tuple(sorted(alone, key=lambda step: step.order)), {each: tops[each] for each in first}
