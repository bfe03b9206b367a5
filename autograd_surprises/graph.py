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


def nodes(root: torch.autograd.graph.Node) -> list[torch.autograd.graph.Node]:
    """All nodes that backward visits from `root`, each after those that lead to it.

    >>> x = torch.ones(1, requires_grad=True)
    >>> [type(node).__name__ for node in nodes((x.exp() + x).grad_fn)]
    ['AddBackward0', 'ExpBackward0', 'AccumulateGrad']
    """
    links, waiting = {root: 0}, [root]  # how many links lead to each node
    while waiting:
        for node in _next(waiting.pop()):
            if node not in links:
                waiting.append(node)
            links[node] = links.get(node, 0) + 1
    order = [root]
    for node in order:  # which grows meanwhile
        for after in _next(node):
            links[after] -= 1
            if links[after] == 0:
                order.append(after)
    return order


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
    found = nodes(result.grad_fn)
    depths = dict.fromkeys(found, 0)
    for node in found:
        for after in _next(node):
            depths[after] = max(depths[after], depths[node] + 1)
    position = {node: i for i, node in enumerate(sorted(found, key=depths.get))}
    return [
        GraphNode(
            node,
            getattr(node, "variable", None),  # only AccumulateGrad has one
            depths[node],
            tuple(position[after] for after in _next(node)),
        )
        for node in position
    ]


def _next(node):
    return [after for after, _ in node.next_functions if after is not None]
