"""What the backward of one operation multiplies by, measured on the node of a live graph."""

from typing import NamedTuple

import torch

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.facts.graph import Node


class LocalDerivative(NamedTuple):
    """The local derivative of one edge.

    jacobian  a row for each number that arrives at the node, a column for each that it sends; None
              if it was not found
    why_none  why it was not found: "not finite", "changes" if the node sends something else when
              it runs again, "not linear"; or "" if nothing is sent
    """

    jacobian: torch.Tensor | None = None
    why_none: str = ""


def local_derivatives(step: BackwardStep) -> list[LocalDerivative]:
    """For each edge of a step whose gradients were kept: let it differentiate each unit vector.

    The backward of the step runs once for each number that arrived, and twice more to see whether
    a product explains what it sent.

    >>> from autograd_surprises.backward.watched_backward import Backward
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> loss = w.square()
    >>> backward = Backward(loss.grad_fn, keep=True)
    >>> backward.run(loss, None)
    >>> [derivative.jacobian for derivative in local_derivatives(backward.root)]
    [tensor([[4.]])]
    """
    arrived = step.gradients_in
    upstream = flat(arrived)
    units = torch.eye(len(upstream), dtype=upstream.dtype)
    rows = [_differentiated(step.node, arrived, unit) for unit in units]
    doubled = _differentiated(step.node, arrived, 2 * upstream)
    again = _differentiated(step.node, arrived, upstream)
    found = []
    for i, sent in enumerate(step.gradients_out):
        if sent is None or step.edges[i][0] is None or not rows:
            found.append(LocalDerivative())
            continue
        jacobian = torch.stack([_as_sent(row[i], sent).flatten() for row in rows])
        terms = upstream.to(jacobian.dtype)[:, None] * jacobian
        explained = _alike(times(upstream, jacobian), sent.flatten(), terms)
        if explained and _alike(_as_sent(doubled[i], sent), 2 * sent, terms):
            found.append(LocalDerivative(jacobian))
        elif not _alike(_as_sent(again[i], sent), sent, terms):
            found.append(LocalDerivative(why_none="changes"))
        else:
            finite = sent.isfinite().all() and terms.isfinite().all()
            found.append(LocalDerivative(why_none="not linear" if finite else "not finite"))
    return found


def elementwise(jacobian: torch.Tensor) -> torch.Tensor | None:
    """The diagonal of a Jacobian, if there is nothing beside it; else None.

    Beside an infinite derivative torch computes NaN: 0 times infinity.

    >>> elementwise(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    tensor([2., 3.])
    """
    if jacobian.shape[0] != jacobian.shape[1]:
        return None
    diagonal = jacobian.diagonal()
    beside = jacobian - torch.diag(diagonal)
    beside.fill_diagonal_(0.0)
    return diagonal if ((beside == 0) | (beside.isnan() & ~diagonal.isfinite())).all() else None


def times(upstream: torch.Tensor, jacobian: torch.Tensor) -> torch.Tensor:
    """The vector-Jacobian product, as torch computes it where a Jacobian is elementwise."""
    upstream, diagonal = upstream.to(jacobian.dtype), elementwise(jacobian)
    return upstream @ jacobian if diagonal is None else upstream * diagonal


def flat(tensors: list[torch.Tensor | None]) -> torch.Tensor:
    """All numbers of these tensors in one vector."""
    return torch.cat([tensor.flatten() for tensor in tensors if tensor is not None])


def _differentiated(node: Node, like, vector):
    """What the node sends along each edge if the numbers of this vector arrive."""
    sizes = [0 if gradient is None else gradient.numel() for gradient in like]
    parts, given = vector.clone().split(sizes), []  # backward may write into what it is given
    for part, gradient in zip(parts, like, strict=True):
        given.append(None if gradient is None else part.reshape(gradient.shape))
    with torch.no_grad():
        if not hasattr(node, "_forward_cls"):
            sent = node(*given)
            return sent if isinstance(sent, tuple) else (sent,)
        # A torch.autograd.Function. The engine gives it zeros for a result that was not used.
        about = zip(given, node._input_metadata, strict=True)
        sent = node.apply(
            *(torch.zeros(meta.shape, dtype=meta.dtype) if g is None else g for g, meta in about)
        )
    # It also returns None for numbers, and may return more of them than it has inputs.
    sent = sent if isinstance(sent, tuple) else (sent,)
    wanted = iter([g for g, need in zip(sent, node.needs_input_grad, strict=False) if need])
    return [after and next(wanted) for after, _ in node.next_functions]


def _as_sent(gradient, sent):
    """As the engine does: None is zero, what was broadcast is summed, and the dtype converted."""
    if gradient is None:
        return torch.zeros_like(sent)
    return gradient.to_dense().sum_to_size(sent.shape).to(sent.dtype)


def _alike(some, others, terms):
    """The same, but for the rounding of sums of numbers as large as these terms?"""
    sizes, eps = terms[terms.isfinite()].abs(), torch.finfo(terms.dtype).eps
    slack = 8 * eps * (sizes.max().item() if len(sizes) else 0.0)
    return torch.allclose(some, others, rtol=1e-3, atol=slack, equal_nan=True)
