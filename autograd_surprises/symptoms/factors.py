"""Which parameter is a factor or a summand of a step, followed down the graph."""

from __future__ import annotations

from itertools import islice

import torch

from autograd_surprises.backward.steps import BackwardStep, numbers_of
from autograd_surprises.graph import Edge, Node, kind_of, leaf_of, name_of, only_way

# They keep the numbers, or select some of them.
VIEWS = {"T", "Transpose", "Permute", "View", "UnsafeView", "ReshapeAlias", "Unsqueeze", "Squeeze",
         "Expand", "Alias", "Clone", "ToCopy", "Slice", "Select", "Split", "SplitWithSizes",
         "Chunk", "Unbind", "Repeat", "Flip", "Roll", "Narrow"}  # fmt: skip
# Kind of step -> its edges that are multiplied, and those that are added to the product.
PRODUCT_OF = {"Mul": (0, 1), "Mm": (0, 1), "Bmm": (0, 1), "Mv": (0, 1), "Dot": (0, 1),
              "Addmm": (1, 2), "Addmv": (1, 2), "Baddbmm": (1, 2), "Linear": (0, 1),
              "Convolution": (0, 1), "MkldnnConvolution": (0, 1), "NativeLayerNorm": (1,),
              "NativeBatchNorm": (1,), "CudnnBatchNorm": (1,), "NativeGroupNorm": (1,),
              "FusedRmsNorm": (1,)}  # fmt: skip
ADDED = {"Add": (0, 1), "Sub": (0, 1), "Addmm": (0,), "Addmv": (0,), "Baddbmm": (0,),
         "Linear": (2,), "Convolution": (2,), "MkldnnConvolution": (2,), "NativeLayerNorm": (2,),
         "NativeBatchNorm": (2,), "CudnnBatchNorm": (2,), "NativeGroupNorm": (2,)}  # fmt: skip
DEEP = 12


def parameter_at(edge: Edge) -> torch.Tensor | None:
    """The leaf whose numbers enter here, through views and casts only.

    >>> gamma = torch.ones(2, requires_grad=True)
    >>> scaled = torch.ones(3, 2) * gamma.unsqueeze(0)
    >>> parameter_at(scaled.grad_fn.next_functions[1]) is gamma
    True
    """
    for node in islice(only_way(edge[0]), DEEP):
        if leaf_of(node) is not None or kind_of(name_of(node)) not in VIEWS:
            return leaf_of(node)
    return None


def added_at(step: BackwardStep, leaf: Node) -> int | None:
    """The number of the edge by which this leaf is added, through views and casts only."""
    for k in ADDED.get(step.kind, ()):
        if k < len(step.edges):
            found = parameter_at(step.edges[k])
            if found is not None and found is leaf_of(leaf):
                return k
    return None


def multiplied(step: BackwardStep) -> list[Edge]:
    """The edges of a step whose numbers are multiplied with each other.

    >>> w, x = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    >>> node = torch.addmm(torch.ones(2), x, w).grad_fn
    >>> step = BackwardStep(node)
    >>> [parameter_at(edge) is leaf for edge, leaf in zip(multiplied(step), (x, w), strict=True)]
    [True, True]
    """
    return [step.edges[k] for k in PRODUCT_OF.get(step.kind, ()) if k < len(step.edges)]


def zero_parameters(step: BackwardStep) -> list[torch.Tensor]:
    """Leaves that are 0 in every element and because of which a factor of this step is 0.

    >>> first, second = (torch.zeros(1, requires_grad=True) for _ in range(2))
    >>> node = (first * second).grad_fn
    >>> step = BackwardStep(node)
    >>> [leaf is second for leaf in zero_parameters(step)]
    [False, True]
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
    kind, below = kind_of(name_of(node)), node.next_functions
    if kind in VIEWS:
        return _makes_zero(below[0], depth - 1)
    if kind in ("Add", "Sub"):
        parts = [_makes_zero(edge, depth - 1) for edge in below]
    else:
        parts = [_of_one(below, PRODUCT_OF.get(kind, ()), depth - 1)]
        added = [below[k] for k in ADDED.get(kind, ()) if k < len(below)]
        parts += [_makes_zero(edge, depth - 1) for edge in added if edge[0] is not None]
    return [leaf for part in parts for leaf in part] if all(parts) else []


def _of_one(edges, numbers, depth):
    parts = [_makes_zero(edges[k], depth) for k in numbers if k < len(edges)]
    return next((leaves for leaves in parts if leaves), [])
