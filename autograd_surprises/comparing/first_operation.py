"""The first operation of backward at which two steps part."""

from collections.abc import Container
from dataclasses import dataclass
from itertools import zip_longest

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.comparing.alignment import aligned
from autograd_surprises.comparing.distance import Distance, distance, last_digit, size
from autograd_surprises.comparing.watched_step import WatchedStep
from autograd_surprises.graph import Edge


@dataclass(frozen=True)
class FirstOperation:
    """Where the backward of two steps parts.

    kind     "operation": the same gradient arrives at both, and another one leaves; "shape": the
             result of the operation has another shape; "graph": these operations are in one of
             both only, or others; "hook": what arrives behind these is not what left them; or
             "unknown"
    in_a     the operations of step a, in the order of backward
    in_b     those of step b
    after    the gradients behind them that differ, and how large the rounding errors are
    behind   the operations of a and b that these arrive at; None for a parameter
    """

    kind: str
    in_a: tuple[BackwardStep, ...]
    in_b: tuple[BackwardStep, ...]
    after: tuple[torch.Tensor | None, torch.Tensor | None, Distance]
    behind: tuple[BackwardStep, BackwardStep] | None = None


class TwoBackwards:
    """The backwards of two steps, with their operations paired.

    relative  the usual relative rounding error of a gradient

    >>> from autograd_surprises.comparing.watched_step import watch_step
    >>> layer, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    >>> steps = (lambda: layer(x).relu().sum(), lambda: layer(x).sigmoid().sum())
    >>> both = [watch_step(f, "", layer, dict(layer.named_parameters())) for f in steps]
    >>> found = TwoBackwards(*both, 1e-7).first("weight")
    >>> found.kind, found.in_a[0].operation, found.in_b[0].operation
    ('graph', 'relu', 'sigmoid')
    """

    def __init__(self, a: WatchedStep, b: WatchedStep, relative: float):
        self.a, self.b, self.relative = a, b, relative
        self.partners = partners(a, b)

    def first(self, name: str) -> FirstOperation:
        """Where they part, on the way to a parameter whose gradients differ.

        It goes up from the parameter along gradients that differ, to operations at which those
        that arrive do not.
        """
        leaves = [(each, each.parameters[name]) for each in (self.a, self.b)]
        edge, other_edge = (_leaf_edge(*pair) for pair in leaves)
        kept = [each.backward.kept.get(id(parameter)) for each, parameter in leaves]
        after = *kept, self._floor(kept[0])
        behind = None
        while True:
            pair = self._above_that_differs(edge, other_edge)
            if pair is None:
                return self._between(edge, other_edge, after, behind)
            step, other, leaving = pair
            arriving = list(zip_longest(step.gradients_in, other.gradients_in))
            i = next((i for i, pair in enumerate(arriving) if self._differ(*pair)), None)
            if i is None:
                return FirstOperation("operation", (step,), (other,), leaving)
            after = *arriving[i], self._floor(arriving[i][0])
            if _shapes_differ(*arriving[i]):
                return FirstOperation("shape", (step,), (other,), after)
            edge, other_edge, behind = (step.node, i), (other.node, i), (step, other)

    def _above_that_differs(self, edge, other_edge):
        """The first operation of both that leads to these edges, and sends other gradients there.

        What only one of them has may lie in between.
        """
        _, mine = _above(self.a, edge, self.partners)
        _, theirs = _above(self.b, other_edge, set(self.partners.values()))
        for step, k in mine:
            other = self.partners[step]
            if (other, k) in theirs:
                leaving = step.gradients_out[k], other.gradients_out[k]
                if self._differ(*leaving):
                    return step, other, (*leaving, self._floor(leaving[0]))
        return None

    def _between(self, edge, other_edge, after, behind):
        """What only one of both has above an edge; or a hook that changed what arrives there."""
        mine, above = _above(self.a, edge, self.partners)
        theirs, other_above = _above(self.b, other_edge, set(self.partners.values()))
        if mine or theirs:
            return FirstOperation("graph", mine, theirs, after, behind)
        left = [[step.gradients_out[k] for step, k in each] for each in (above, other_above)]
        is_sum = [
            not self._differ(_sum(some), here) for some, here in zip(left, after, strict=False)
        ]
        kind = "unknown" if all(is_sum) else "hook"
        return FirstOperation(kind, mine, theirs, after, behind)

    def _floor(self, gradient):
        """How large its rounding errors are."""
        return (size(gradient) * self.relative).or_larger(last_digit(gradient))

    def _differ(self, mine, theirs):
        if mine is None and theirs is None:
            return False
        floor = self._floor(mine if mine is not None else theirs)
        return _shapes_differ(mine, theirs) or distance(mine, theirs).beyond(floor)


def _shapes_differ(mine, theirs):
    return mine is not None and theirs is not None and mine.shape != theirs.shape


def _sum(gradients):
    known = [gradient for gradient in gradients if gradient is not None]
    return sum(known) if known else None


def _leaf_edge(watched, leaf):
    steps = watched.backward.steps.values()
    return next((step.node for step in steps if step.leaf is leaf), None), 0


def partners(a: WatchedStep, b: WatchedStep) -> dict[BackwardStep, BackwardStep]:
    """The operations of two steps that belong together, in the order of backward."""
    return {a.ran[i]: b.ran[j] for i, j in aligned(a.keys, b.keys)}


def _above(watched: WatchedStep, edge: Edge, paired: Container[BackwardStep]):
    """What leads to this edge, in the order of backward.

    The operations without a partner up to those with one; and of these (operation, its edge).
    """
    waiting, alone, tops = [edge], {}, {}
    for end in waiting:
        for step, k in watched.backward.into.get(end, ()):
            if step in paired:
                tops[step, k] = None
            elif step not in alone and step.order is not None:
                alone[step] = None
                waiting += [(step.node, i) for i in range(len(step.arriving))]
    first = sorted(tops, key=lambda pair: pair[0].order)
    return tuple(sorted(alone, key=lambda step: step.order)), first
