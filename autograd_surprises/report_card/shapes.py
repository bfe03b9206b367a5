"""Tensors without numbers, without dimensions, and with gaps in memory."""

import torch

from autograd_surprises.report_card.example import flat, pattern
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.verdict import NotApplicable, require_equal


def empty(subject: Subject) -> None:
    """A tensor without numbers.

    >>> empty(Subject(torch.exp, (torch.ones(2),)))
    """
    _of_shape(subject, (0,))


def zero_dimensional(subject: Subject) -> None:
    """A tensor of one number and no dimension."""
    _of_shape(subject, ())


def _of_shape(subject, shape):
    if subject.grid is None:
        raise NotApplicable("fn is not elementwise: which shapes it takes is its own matter")
    row = subject.tensors()[0][: torch.Size(shape).numel()]
    x = row.reshape(shape)
    y, leaves = subject.run([x])
    (grad,) = torch.autograd.grad(y, leaves, pattern(y), materialize_grads=True)
    where = subject.at([x])
    require_equal(y.detach(), subject.call([row]).detach().reshape(shape), where)
    require_equal(grad, subject.gradients([row])[0].reshape(shape), where)


def non_contiguous(subject: Subject) -> None:
    """A transposed or strided input, with an upstream gradient that is strided or expanded."""
    tensors = subject.tensors()
    if subject.grid is not None:
        tensors = [torch.stack([tensors[0], tensors[0].flip(0)])]
    with_gaps, views = zip(*map(_with_gaps, tensors), strict=True)
    y = subject.call(tensors).detach()
    stored, view = _with_gaps(pattern(y))
    for upstream in (view(stored), torch.full((), 2.5, dtype=y.dtype).to(y).expand(y.shape)):
        expected = subject.gradients(tensors, upstream.contiguous())
        leaves = [tensor.clone().requires_grad_() for tensor in with_gaps]
        inputs = [view(leaf.clone()) for view, leaf in zip(views, leaves, strict=True)]
        yours = subject.apply(inputs)
        require_equal(yours, y, subject.at_output(tensors, y))
        grads = torch.autograd.grad(yours, leaves, upstream, materialize_grads=True)
        grads = [view(grad) for view, grad in zip(views, grads, strict=True)]
        where = subject.at(tensors, "gradient {}")
        require_equal(flat(grads), flat(expected), where)


def _with_gaps(tensor):
    """The same numbers in another order or with others between them, and the view of them."""
    if tensor.dim() < 2:
        return torch.stack([tensor, tensor], -1), lambda stored: stored.select(-1, 0)
    return tensor.transpose(0, -1).contiguous(), lambda stored: stored.transpose(0, -1)
