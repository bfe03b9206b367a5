"""The first operation of backward at which two steps part."""

from collections.abc import Container
from dataclasses import dataclass
from itertools import zip_longest

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.comparing.alignment import aligned
from autograd_surprises.comparing.distance import Distance, distance, rounding_floor
from autograd_surprises.comparing.watched_step import WatchedStep
from autograd_surprises.graph import Edge, edge_of


@dataclass(frozen=True)
class FirstOperation:
    """Where the backward of two steps parts.

    kind     "operation": the same gradient arrives at both, and another one leaves; "shape": the
             result of the operation has another shape; "graph": these operations are in one of
             both only, or others; "hook": what arrives at these, or at the parameter, is not what
             was sent there; or "unknown"
    in_a     the operations of step a, in the order of backward
    in_b     those of step b
    after    the gradients behind them that differ, and how large the rounding errors are
    """

    kind: str
    in_a: tuple[BackwardStep, ...]
    in_b: tuple[BackwardStep, ...]
    after: tuple[torch.Tensor | None, torch.Tensor | None, Distance]


def first_operation(a: WatchedStep, b: WatchedStep, relative: float, name: str) -> FirstOperation:
    """Where two steps part, on the way to a parameter whose gradients differ.

    It goes up from the parameter along gradients that differ, to operations at which those that
    arrive do not. What only one of the steps has may lie in between.

    relative  the usual relative rounding error of a gradient

    >>> from autograd_surprises.comparing.watched_step import watch_step
    >>> layer, x = torch.nn.Linear(2, 1), torch.ones(3, 2)
    >>> steps = (lambda: layer(x).relu().sum(), lambda: layer(x).sigmoid().sum())
    >>> parameters = dict(layer.named_parameters())
    >>> both = [watch_step(f, "", parameters, layer) for f in steps]
    >>> found = first_operation(*both, 1e-7, "weight")
    >>> found.kind, found.in_a[0].operation, found.in_b[0].operation
    ('graph', 'relu', 'sigmoid')
    """

    def differ(mine, theirs):
        if mine is None and theirs is None:
            return False
        floor = rounding_floor(theirs if mine is None else mine, relative)
        return _shapes_differ(mine, theirs) or distance(mine, theirs).beyond(floor)

    def found(kind, in_a, in_b, left):
        return FirstOperation(kind, in_a, in_b, (*left, rounding_floor(left[0], relative)))

    paired = partners(a, b)
    edge, other_edge = (edge_of(each.parameters[name]) for each in (a, b))
    arrived = [each.backward.kept.get(id(each.parameters[name])) for each in (a, b)]
    behind = (), ()
    while True:
        mine, above = _above(a, edge, paired)
        theirs, other_above = _above(b, other_edge, set(paired.values()))
        both = [(s, paired[s], k) for s, k in above if (paired[s], k) in other_above]
        leaving = ((s, other, s.gradients_out[k], other.gradients_out[k]) for s, other, k in both)
        step, other, *left = next((each for each in leaving if differ(*each[2:])), (None, None))
        if step is None and (mine or theirs):
            return found("graph", mine, theirs, arrived)
        if step is None:
            is_hook = any(map(differ, map(_sum, (above, other_above)), arrived))
            return found("hook" if is_hook else "unknown", *behind, arrived)
        arriving = list(zip_longest(step.gradients_in, other.gradients_in))
        i = next((i for i, pair in enumerate(arriving) if differ(*pair)), None)
        behind = (step,), (other,)
        if i is None:
            return found("operation", *behind, left)
        arrived, edge, other_edge = arriving[i], (step.node, i), (other.node, i)
        if _shapes_differ(*arrived):
            return found("shape", *behind, arrived)


def _shapes_differ(mine, theirs):
    return mine is not None and theirs is not None and mine.shape != theirs.shape


def _sum(above):
    known = [s.gradients_out[k] for s, k in above if s.gradients_out[k] is not None]
    return sum(known) if known else None


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
