"""The first gradient: is there one, of the right shape, linear in grad_output?"""

from __future__ import annotations

import torch

from autograd_surprises.report_card.differences import flat
from autograd_surprises.report_card.slopes import slope
from autograd_surprises.report_card.subject import Subject, pattern
from autograd_surprises.report_card.verdict import (
    NotApplicable,
    Wrong,
    require_equal,
    require_number,
)


def one_gradient_per_input(subject: Subject) -> str:
    """Does backward run, and reach every input that the value depends on?

    >>> one_gradient_per_input(Subject(torch.exp, None, (torch.ones(2),), (0,)))
    ''
    """
    y, leaves = subject.run(subject.example)
    grads = torch.autograd.grad(y, leaves, pattern(y), allow_unused=True)
    missing = [index for index, grad in enumerate(grads) if grad is None]
    for index in missing:
        other = subject.example
        other[index] = other[index] * 0.9
        place, shape = subject.chosen[index], tuple(other[index].shape)
        if not torch.equal(subject.call(other), y):
            raise Wrong(
                f"input {place} of shape {shape} changes the value, but gets no gradient",
                "None",
                "a gradient",
                "return its gradient; if it needs none, call requires_grad_() on the others",
            )
    names = ", ".join(f"input {subject.chosen[index]}" for index in missing)
    return f"none for {names}, which does not change the value" if names else ""


def shape_and_dtype(subject: Subject) -> str:
    """What backward itself returns, before autograd sums and converts it to fit."""
    owner = getattr(subject.fn, "__self__", None)
    y, leaves = subject.run(subject.example)
    grads = torch.autograd.grad(y, leaves, pattern(y), materialize_grads=True, retain_graph=True)
    if isinstance(owner, type) and isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction):
        raw = y.grad_fn.apply(pattern(y))
        raw = raw if isinstance(raw, tuple) else (raw,)
        grads = [raw[place] for place in subject.chosen]
    remarks = []
    for place, grad, leaf in zip(subject.chosen, grads, leaves, strict=True):
        if grad is not None and grad.shape != leaf.shape:
            mine, wanted = f"shape {tuple(grad.shape)}", f"shape {tuple(leaf.shape)}"
            try:
                slope(subject)
            except Wrong as wrong:
                raise Wrong(
                    f"for input {place}, and autograd sums it to fit",
                    mine,
                    wanted,
                    "do not broadcast by accident: compare the shapes in backward",
                ) from wrong
            remarks.append(f"for input {place} backward returns {mine}, and autograd sums it")
        if grad is not None and grad.dtype != leaf.dtype:
            kinds = f"{str(grad.dtype)[6:]} for {str(leaf.dtype)[6:]}"
            remarks.append(f"backward returns {kinds}, and autograd converts it: costly")
    return "; ".join(remarks)


def linear(subject: Subject) -> str:
    """Does 2.5·u - 1.5·v for grad_output give 2.5 and -1.5 times what u and v give?"""
    tensors = subject.tensors()
    u = pattern(subject.call(tensors))
    v = u.flatten().roll(1).reshape(u.shape) - 0.125
    of_u, of_v, of_both, of_zero = (
        flat(subject.gradients(tensors, upstream))[0]
        for upstream in (u, v, 2.5 * u - 1.5 * v, 0 * u)
    )
    where = lambda index: subject.place(tensors, index)  # noqa: E731
    if of_zero.any() and torch.equal(of_zero, of_u) and torch.equal(of_zero, of_v):
        first = of_zero.nonzero()[0].item()
        raise Wrong(
            f"the same gradient for every grad_output, {where(first)} for grad_output = 0",
            f"{of_zero[first]:.4g}",
            "0",
            "multiply by grad_output",
        )
    require_equal(
        of_zero,
        0 * of_zero,
        lambda index: f"{where(index)} for grad_output = 0",
        "backward adds numbers of its own: put them into a factor of grad_output",
    )
    require_equal(
        of_both,
        2.5 * of_u - 1.5 * of_v,
        lambda index: f"for the sum 2.5·u - 1.5·v as grad_output, {where(index)}",
        "only multiply grad_output and sum: no power, norm, clamp or sign of it",
    )
    return ""


def infinite_upstream(subject: Subject) -> str:
    """Where the slope is 0 because of a mask, an infinite grad_output must not give NaN."""
    if subject.grid is None:
        raise NotApplicable("fn is not elementwise: infinities of several numbers meet")
    tensors = subject.doubles()
    infinite = lambda y: torch.full_like(y, torch.inf) * pattern(y).sign()  # noqa: E731
    yours = subject.gradients(tensors, infinite)[0]
    if subject.like:
        expected = subject.gradients(tensors, infinite, subject.like)[0]
    elif len(subject.points.jumps):
        expected = subject.gradients(tensors, torch.ones_like)[0]
        expected = expected.masked_fill(expected != 0, torch.nan)
    else:  # no mask: where the slope is 0, a smooth one was rounded, as sigmoid's is
        return ""
    where = lambda i: f"{subject.place(tensors, i)} for grad_output = {infinite(yours)[i]:g}"  # noqa: E731
    remedy = "0 · inf is NaN: torch.where(mask, grad_output, 0) instead of mask * grad_output"
    require_number(yours, expected, where, remedy)
    return ""
