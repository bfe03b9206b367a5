"""The autograd graph: the one walk over its nodes, and what they are called."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator

import torch

Node = torch.autograd.graph.Node
Edge = tuple[Node | None, int]  # a node, and the number of the output whose gradient goes there


def reachable(roots: Iterable[Node | None]) -> Iterator[Node]:
    """All nodes that backward visits from these, each once, in the order of their distance.

    >>> x = torch.ones(1, requires_grad=True)
    >>> [name_of(node) for node in reachable([(x.exp() + x).grad_fn])]
    ['AddBackward0', 'ExpBackward0', 'AccumulateGrad']
    """
    waiting = deque(root for root in roots if root is not None)
    seen = set(waiting)
    while waiting:
        node = waiting.popleft()
        yield node
        for after in below(node):
            if after not in seen:
                seen.add(after)
                waiting.append(after)


def nodes(root: Node) -> list[Node]:
    """All nodes that backward visits from `root`, each after those that lead to it."""
    links = Counter(after for node in reachable([root]) for after in below(node))
    order = [root]
    for node in order:  # which grows meanwhile
        for after in below(node):
            links[after] -= 1
            if links[after] == 0:
                order.append(after)
    return order


def only_way(node: Node | None) -> Iterator[Node]:
    """This node, and those that follow as long as each leads to one node alone.

    >>> x = torch.ones(1, requires_grad=True)
    >>> [name_of(node) for node in only_way((x.exp() + x).sum().grad_fn)]
    ['SumBackward0', 'AddBackward0']
    """
    while node is not None:
        yield node
        after = below(node)
        node = after[0] if len(after) == 1 else None


def below(node: Node) -> list[Node]:
    """The nodes that the gradients of this one go to; one for each input that needs a gradient."""
    return [after for after, _ in node.next_functions if after is not None]


def leaf_of(node: Node) -> torch.Tensor | None:
    """The leaf whose .grad this node fills; None for an operation."""
    return getattr(node, "variable", None)  # only AccumulateGrad has one


def edge_of(tensor: torch.Tensor) -> Edge:
    """The node and the number of its output where this tensor's gradient arrives."""
    if not tensor.requires_grad:
        return None, 0
    edge = torch.autograd.graph.get_gradient_edge(tensor)
    return edge.node, edge.output_nr


def name_of(node: Node) -> str:
    """The name of a node, without its modules."""
    return node.name().rpartition("::")[2]


def kind_of(name: str) -> str:
    """The name of a node without Backward and number.

    >>> kind_of("LogSoftmaxBackward0")
    'LogSoftmax'
    """
    return name.rstrip("0123456789").removesuffix("Backward")


def readable(kind: str) -> str:
    """The kind of a node as the operation is written in Python.

    >>> readable("LinalgVectorNorm"), readable("MaxPool2DWithIndices")
    ('linalg_vector_norm', 'max_pool2d_with_indices')
    """
    words = r"(?<=[a-z])(?=[A-Z])|(?<=\dD)(?=[A-Z])|(?<=\d)(?=Loss)"
    return re.sub(words, "_", kind.removeprefix("Native")).lower()
