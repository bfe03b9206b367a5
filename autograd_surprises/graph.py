"""The autograd graph behind a tensor, as data: what backward will walk through."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class GraphNode:
    """One step of backward.

    function  the node itself, for instance <MulBackward0>
    leaf      the leaf tensor whose .grad this node fills, or None
    depth     the longest way from the result, in steps
    inputs    positions, in the list of nodes, of the nodes that backward visits from here
    """

    function: torch.autograd.graph.Node
    leaf: torch.Tensor | None
    depth: int
    inputs: tuple[int, ...]

    @property
    def name(self) -> str:
        return type(self.function).__name__


def autograd_graph(result: torch.Tensor) -> list[GraphNode]:
    """List the nodes that result.backward() would visit, the result's own node first.

    Inputs that need no gradient are not in the graph. Raises ValueError if `result` has none.

    >>> w = torch.ones(2, requires_grad=True)
    >>> [node.name for node in autograd_graph((w * 3).sum())]
    ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
    """
    if not isinstance(result, torch.Tensor):
        raise TypeError(f"autograd_graph needs a tensor, got {type(result).__name__}")
    if result.grad_fn is None:
        raise ValueError(
            "this tensor has no grad_fn, so there is no graph behind it: it is a leaf, or it was "
            "computed under no_grad, detached, or made from tensors that need no gradient"
        )
    depths, waiting = {result.grad_fn: 0}, [result.grad_fn]
    while waiting:
        function = waiting.pop()
        for needed, _ in function.next_functions:
            if needed is not None and depths.get(needed, -1) <= depths[function]:
                depths[needed] = depths[function] + 1
                waiting.append(needed)
    order = {function: i for i, function in enumerate(sorted(depths, key=depths.get))}
    return [
        GraphNode(
            function,
            getattr(function, "variable", None),  # only AccumulateGrad has one
            depths[function],
            tuple(order[needed] for needed, _ in function.next_functions if needed is not None),
        )
        for function in order
    ]
