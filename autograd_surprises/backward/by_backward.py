"""Gradients by backward(), which writes to .grad, where torch.autograd.grad cannot work."""

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch.autograd import backward  # as it was before a user wrapped it

from autograd_surprises.recording.modules import living


def gradients_by_backward(
    loss: torch.Tensor, grad_outputs: torch.Tensor | None, results: Iterable[torch.Tensor] = ()
) -> dict[int, torch.Tensor]:
    """The gradient of each leaf, and of these results, by id; every .grad is put back.

    A reentrant checkpoint refuses torch.autograd.grad. Which leaves it hides cannot be known
    before, so all that exist are looked after.

    Raises RuntimeError where backward() would do more than write to .grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> gradients_by_backward((x * 3).sum(), None)[id(x)], x.grad
    (tensor([3., 3.]), None)
    """
    leaves = living_leaves()
    if any(getattr(leaf, "_post_accumulate_grad_hooks", None) for leaf in leaves):
        raise RuntimeError(f"{REFUSED}, and a hook of a parameter runs as soon as .grad is written")
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        raise RuntimeError(f"{REFUSED}, which other processes would take part in")
    found: dict[int, torch.Tensor] = {}
    handles = [_catch(result, found) for result in results]
    kept = [(leaf, leaf.grad) for leaf in leaves]
    try:
        for leaf in leaves:
            leaf.grad = None
        backward(loss, grad_outputs, retain_graph=True)
        found.update((id(leaf), leaf.grad) for leaf in leaves if leaf.grad is not None)
    finally:
        for leaf, grad in kept:
            leaf.grad = grad
        for handle in handles:
            handle.remove()
    return found


def living_leaves() -> list[torch.Tensor]:
    """All leaves that exist and require a gradient."""
    (alive,) = living(torch.Tensor)
    # Of a view that was changed in place, is_leaf may raise.
    return [t for t in alive if t.requires_grad and not t._is_view() and t.is_leaf]


REFUSED = "torch.utils.checkpoint is incompatible with .grad(): explain would have to call backward"


def _catch(result, found):
    edge = torch.autograd.graph.get_gradient_edge(result)

    def look(arrived):
        found[id(result)] = arrived[edge.output_nr]

    return edge.node.register_prehook(look)
