"""Writing into tensors: what fn writes into, and what may be written into afterwards."""

from __future__ import annotations

import torch

from autograd_surprises.report_card.differences import flat
from autograd_surprises.report_card.subject import Subject, pattern
from autograd_surprises.report_card.verdict import require_equal


def input_untouched(subject: Subject) -> str:
    """Forward and backward leave the input as it was, unless fn says that it works in place."""
    tensors = subject.tensors()
    inputs = [tensor.clone().requires_grad_().clone() for tensor in tensors]
    y = subject.apply(inputs)
    changed = not torch.equal(flat(inputs)[0], flat(tensors)[0])
    if changed and any(y is tensor for tensor in inputs):
        return "fn works in place, and tells autograd"
    torch.autograd.grad(y, inputs, pattern(y), allow_unused=True)
    where = lambda index: f"fn writes into its input, {subject.place(tensors, index)}"  # noqa: E731
    remedy = "make a new tensor, or say so with ctx.mark_dirty(x) and return x"
    require_equal(flat(inputs)[0], flat(tensors)[0], where, remedy)
    return ""


def grad_output_untouched(subject: Subject) -> str:
    """Backward leaves grad_output as it was: others may be given the same tensor.

    >>> grad_output_untouched(Subject(torch.exp, None, (torch.ones(2),), (0,)))
    ''
    """
    tensors = subject.tensors()
    y, leaves = subject.run(tensors)
    upstream = pattern(y)
    torch.autograd.grad(y, leaves, upstream, allow_unused=True)
    where = lambda index: f"backward writes into grad_output, number {index}"  # noqa: E731
    remedy = "make a new tensor: grad_output * 2 instead of grad_output.mul_(2)"
    require_equal(upstream, pattern(y), where, remedy)
    return ""


def in_place_safety(subject: Subject) -> str:
    """Input or output changed after the call: the same gradient, or torch's own error."""
    tensors = subject.tensors()
    upstream = pattern(subject.call(tensors))
    for what, factor in (("input", 1), ("output", 2)):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        inputs = [leaf.clone() for leaf in leaves]
        try:
            y = subject.apply(inputs)
            if what == "output":
                y = y.mul_(2)
            else:
                with torch.no_grad():
                    for tensor in inputs:
                        tensor.mul_(-1.5).add_(0.75)
            grads = torch.autograd.grad(y, leaves, upstream.clone(), materialize_grads=True)
        except RuntimeError:  # which is not silent
            continue
        expected = subject.gradients(tensors, factor * upstream)
        where = lambda i, what=what: (  # noqa: E731
            f"{what} changed in place after the call, {subject.place(tensors, i)}"
        )
        remedy = "keep tensors with ctx.save_for_backward, which notices: not as ctx.x = x"
        require_equal(flat(grads)[0], flat(expected)[0], where, remedy)
    return ""
