"""Which parameter is a factor or a summand of a step, followed down the graph."""

from itertools import islice

import torch

from autograd_surprises.backward.steps import BackwardStep, numbers_of
from autograd_surprises.facts.graph import Edge, Node, kind_of, leaf_of, name_of, only_way
from autograd_surprises.facts.operations import traits_of

DEEP = 12  # nodes that are followed down


def parameter_at(edge: Edge) -> torch.Tensor | None:
    """The leaf whose numbers enter here, through what only arranges them.

    >>> gamma = torch.ones(2, requires_grad=True)
    >>> scaled = torch.ones(3, 2) * gamma.unsqueeze(0)
    >>> parameter_at(scaled.grad_fn.next_functions[1]) is gamma
    True
    """
    for node in islice(only_way(edge[0]), DEEP):
        if leaf_of(node) is not None or not traits_of(kind_of(name_of(node))).arranges:
            return leaf_of(node)
    return None


def added_at(step: BackwardStep, leaf: Node) -> int | None:
    """The number of the edge by which this leaf is added, through what only arranges them."""
    for k in traits_of(step.kind).added:
        if k < len(step.edges):
            found = parameter_at(step.edges[k])
            if found is not None and found is leaf_of(leaf):
                return k
    return None


def multiplied(step: BackwardStep) -> list[Edge]:
    """The edges of a step whose numbers are multiplied with each other.

    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> len(multiplied(BackwardStep(torch.addmm(torch.ones(2), w, w).grad_fn)))
    2
    """
    return [step.edges[k] for k in traits_of(step.kind).factors if k < len(step.edges)]


def zero_parameters(step: BackwardStep) -> list[torch.Tensor]:
    """Leaves that are 0 in every element and because of which a factor of this step is 0.

    >>> w = torch.zeros(1, requires_grad=True)
    >>> zero_parameters(BackwardStep((w * 2).grad_fn))[0] is w
    True
    """
    return [leaf for edge in multiplied(step) for leaf in _makes_zero(edge, DEEP)]


def _makes_zero(edge, depth):
    """The leaves because of which what enters here is 0; none if that is not the reason."""
    node = edge[0]
    if node is None or depth == 0:
        return []
    leaf = leaf_of(node)
    if leaf is not None:
        return [] if bool(numbers_of(leaf).any()) else [leaf]
    traits, below = traits_of(kind_of(name_of(node))), node.next_functions
    if traits.arranges:
        return _makes_zero(below[0], depth - 1)
    if traits.only_adds:
        parts = [_makes_zero(edge, depth - 1) for edge in below]
    else:
        parts = [_of_one(below, traits.factors, depth - 1)]
        added = [below[k] for k in traits.added if k < len(below)]
        parts += [_makes_zero(edge, depth - 1) for edge in added if edge[0] is not None]
    return [leaf for part in parts for leaf in part] if all(parts) else []


def _of_one(edges, numbers, depth):
    """Of several factors, one that is 0 is enough."""
    parts = [_makes_zero(edges[k], depth) for k in numbers if k < len(edges)]
    return next((leaves for leaves in parts if leaves), [])
