"""The first gradient: is there one, is it linear in grad_output, in each dtype and shape?"""

import torch

from autograd_surprises.report_card.example import flat, pattern
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.verdict import (
    NotApplicable,
    SilentlyWrong,
    in_words,
    require_equal,
    require_number,
    size,
)

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def one_gradient_per_input(subject: Subject) -> str:
    """Does backward run, and reach every input that the value depends on?

    >>> one_gradient_per_input(Subject(torch.exp, (torch.ones(2),)))
    ''
    """
    y, leaves = subject.run(subject.given)
    grads = torch.autograd.grad(y, leaves, pattern(y), allow_unused=True)
    missing = [index for index, grad in enumerate(grads) if grad is None]
    for index in missing:
        other = subject.given
        other[index] = other[index] * 0.9
        place = subject.chosen[index]
        shape = tuple(subject.inputs[place].shape)
        if not torch.equal(subject.call(other), y):
            raise SilentlyWrong(
                f"input {place} of shape {shape} changes the value, but gets no gradient",
                "None",
                "a gradient",
                "return its gradient; if it needs none, call requires_grad_() on the others",
            )
    names = ", ".join(f"input {subject.chosen[index]}" for index in missing)
    return f"none for {names}, which does not change the value" if names else ""


def output_dtype(subject: Subject) -> None:
    """Does fn return the dtype that it is given?"""
    if any(isinstance(each, torch.Tensor) and each.is_complex() for each in subject.inputs):
        raise NotApplicable("an input is complex, and complex numbers have no narrow dtype")
    for dtype in filter(subject.accepts, DTYPES):
        returned = subject.apply(subject.tensors(dtype)).dtype
        if returned != dtype:
            raise SilentlyWrong(
                f"for an input of {in_words(dtype)}",
                in_words(returned),
                "the dtype of the input",
                "convert the result, y.to(x.dtype), and make constants with dtype=x.dtype",
            )


def linear(subject: Subject) -> None:
    """Does 2.5·u - 1.5·v for grad_output give 2.5 and -1.5 times what u and v give?"""
    tensors = subject.tensors()
    u = pattern(subject.call(tensors))
    v = u.flatten().roll(1).reshape(u.shape) - 0.125
    of_u, of_v, of_both, of_zero = (
        flat(subject.gradients(tensors, upstream)) for upstream in (u, v, 2.5 * u - 1.5 * v, 0 * u)
    )
    require_equal(
        of_zero,
        0 * of_zero,
        subject.at(tensors, "{} for grad_output = 0"),
        "backward ignores grad_output or adds numbers of its own: multiply by grad_output",
    )
    require_equal(
        of_both,
        2.5 * of_u - 1.5 * of_v,
        subject.at(tensors, "for the sum 2.5·u - 1.5·v as grad_output, {}"),
        "only multiply grad_output and sum: no power, norm, clamp or sign of it",
    )


def infinite_upstream(subject: Subject) -> None:
    """Where the slope is 0 because of a mask, an infinite grad_output must not give NaN."""
    subject.require_grid()
    tensors = [torch.cat([subject.doubles()[0], subject.outer(torch.float64)])]
    infinite = torch.inf * pattern(tensors[0]).sign()
    (yours,) = subject.gradients(tensors, infinite)
    if subject.like:
        (expected,) = subject.gradients(tensors, infinite, subject.like)
    elif _is_masked(subject):
        (expected,) = subject.gradients(tensors, torch.ones_like)
        expected = expected.masked_fill(expected != 0, torch.nan)
    else:  # no mask: where the slope is 0, a smooth one was rounded, as that of sigmoid is
        return

    def where(index):
        return f"{subject.at(tensors)(index)} for grad_output = {infinite[index]:g}"

    remedy = "0 · inf is NaN: torch.where(mask, grad_output, 0) instead of mask * grad_output"
    require_number(yours, expected, where, remedy)


def _is_masked(subject):
    """Does the gradient jump to exactly 0, and not just fade into it by rounding?"""
    if not len(subject.samples.jumps):
        return False
    left, right = subject.samples.jumps.chunk(2)
    width = right - left  # beyond the jump: at it, sign is 0, and no mask
    left, right = subject.gradient_on(torch.cat([left - width, right + width])).abs().chunk(2)
    steepest = size(subject.gradient_on(subject.grid)).max()
    ends = torch.minimum(left, right) == 0
    return (ends & (torch.maximum(left, right) > 1e-6 * steepest)).any()


def empty(subject: Subject) -> None:
    """A tensor without numbers.

    >>> empty(Subject(torch.exp, (torch.ones(2),)))
    """
    _of_shape(subject, (0,))


def zero_dimensional(subject: Subject) -> None:
    """A tensor of one number and no dimension."""
    _of_shape(subject, ())


def _of_shape(subject, shape):
    subject.require_grid()
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
