"""torch.compile, with fullgraph=True."""

import io
from contextlib import contextmanager, redirect_stderr

import torch

from autograd_surprises.report_card.example import flat, pattern
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.transforms import func_grad, func_jvp, require_product
from autograd_surprises.report_card.verdict import NotApplicable, require_equal
from autograd_surprises.show.findings import first_line

IN_EAGER = "call torch.func outside of torch.compile, or spell it without a Function"


@contextmanager
def fresh_compiler(backend: str = "aot_eager"):
    """A function that compiles, with nothing compiled before or left behind.

    Raises NotApplicable where not even x + 1 compiles: no C++ compiler, too new a Python.

    >>> with fresh_compiler("eager") as whole:
    ...     whole(torch.exp)(torch.zeros(1))
    tensor([1.])
    """

    def whole(function):
        return torch.compile(function, fullgraph=True, backend=backend)

    torch.compiler.reset()
    try:
        try:
            with redirect_stderr(io.StringIO()):  # torch 2.6 says there that it found no GPU
                whole(lambda x: x + 1)(torch.ones(2))
        except Exception as error:
            raise NotApplicable(f"{backend} does not work here: {first_line(error)}") from error
        yield whole
    finally:
        torch.compiler.reset()


def compiled_with(subject: Subject, backend: str) -> None:
    """Value and gradient, compiled by this backend."""
    tensors = subject.tensors()
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    with fresh_compiler(backend) as whole:
        y = whole(lambda *some: subject.apply(some))(*leaves)
        grads = torch.autograd.grad(y, leaves, pattern(y), materialize_grads=True)
    expected = subject.call(tensors).detach()
    require_equal(y, expected, subject.at_output(tensors, expected))
    _require_gradient(subject, tensors, grads)


def compiled_grad(subject: Subject) -> None:
    """torch.compile of torch.func.grad, which dropped custom backwards before torch 2.14."""
    tensors = subject.tensors()
    with fresh_compiler() as whole:
        # it lost them where fn is given the very tensor that the gradient is asked for
        grads = whole(func_grad(subject, subject.apply))(*tensors)
    _require_gradient(subject, tensors, grads)


def compiled_jvp(subject: Subject) -> None:
    """torch.compile of torch.func.jvp."""
    with fresh_compiler() as whole:
        yours = whole(func_jvp(subject))(*subject.tensors())
    require_product(subject, yours, IN_EAGER)


def _require_gradient(subject, tensors, grads):
    expected = flat(subject.gradients(tensors))
    require_equal(flat(grads), expected, subject.at(tensors, "gradient {}"), IN_EAGER)
