"""Finds the Functions whose backward returns None where a gradient is needed."""

from operator import and_

import torch
from torch.autograd import grad as gradients  # as it was before a user wrapped it
from torch.autograd.function import BackwardCFunction

from autograd_surprises.facts.graph import nodes


def functions_that_return_none(y: torch.Tensor, *leaves: torch.Tensor) -> list[str]:
    """The Functions whose backward returns None where the way from y to a leaf needs a gradient.

    >>> x = torch.ones(2, requires_grad=True)
    >>> functions_that_return_none(x.exp(), x)
    []
    """
    returned_none = {}  # a dict keeps their order

    def listen(node):
        @node.register_hook
        def hook(gradients, arrived):
            needed = [after is not None for after, _ in node.next_functions]
            missing = [grad is None for grad in gradients]
            if any(map(and_, needed, missing)) and any(grad is not None for grad in arrived):
                returned_none[node._forward_cls.__name__] = None

    if y.grad_fn:
        for node in nodes(y.grad_fn):
            if isinstance(node, BackwardCFunction):
                listen(node)
        arrived = torch.ones_like(y)
        gradients(y, leaves, arrived, allow_unused=True, retain_graph=True)
    return list(returned_none)
