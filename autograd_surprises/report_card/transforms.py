"""torch.func and torch.compile, with fullgraph=True, against plain loops over backward."""

import io
from collections.abc import Callable
from contextlib import contextmanager, redirect_stderr

import torch
from torch.autograd import Function
from torch.autograd.function import BackwardCFunction

from autograd_surprises.facts.graph import reachable
from autograd_surprises.numerics import exact_digits, partial_slopes
from autograd_surprises.report_card.example import flat, pattern, shaped
from autograd_surprises.report_card.operators import called_row_by_row, no_tangent
from autograd_surprises.report_card.subject import Subject
from autograd_surprises.report_card.verdict import NotApplicable, SilentlyWrong, require_equal
from autograd_surprises.show.findings import first_line

AGREE = "jvp multiplies by the Jacobian, backward by its transpose: make them agree"
NOT_HIDDEN = (
    "fn calls no Function with a jvp. Perhaps it writes under torch.no_grad(), which hides the "
    "write from backward, but not from forward mode: y.detach().copy_(value) hides it from both"
)
IN_EAGER = "call torch.func outside of torch.compile, or spell it without a Function"


def vmap(subject: Subject) -> str:
    """vmap of fn, over all inputs and over each alone, against a loop.

    >>> vmap(Subject(torch.exp, (torch.ones(2),)))
    ''
    """
    tensors = subject.tensors()
    batches = [torch.stack([tensor, tensor.flatten().flip(0).reshape(tensor.shape), tensor])
               for tensor in tensors]  # fmt: skip
    together = (True,) * len(tensors)
    alone = [tuple(i == j for j in range(len(tensors))) for i in range(len(tensors))]
    for batched in dict.fromkeys([together, *alone]):
        given = list(zip(tensors, batches, batched, strict=True))
        yours = torch.func.vmap(
            lambda *some: subject.call(some), in_dims=tuple(0 if b else None for b in batched)
        )(*(batch if b else tensor for tensor, batch, b in given))
        rows = [[batch[k] if b else t for t, batch, b in given] for k in range(3)]
        expected = torch.stack([subject.call(row).detach() for row in rows])
        require_equal(yours, expected, subject.at_output(batches, expected))
    return called_row_by_row(subject)


def vmap_of_grad(subject: Subject) -> None:
    """The gradient of each example of a batch, against a loop."""
    tensors = subject.tensors()
    batches = [torch.stack([tensor, tensor]) for tensor in tensors]
    yours = torch.func.vmap(func_grad(subject, subject.call))(*batches)
    expected = flat(subject.gradients(tensors))
    for k in range(2):
        require_equal(flat([grad[k] for grad in yours]), expected, subject.at(tensors))


def jvp(subject: Subject) -> None:
    """The derivative along a direction, in forward mode."""
    require_product(subject, func_jvp(subject)(*subject.tensors()))


def func_grad(subject: Subject, call: Callable) -> Callable:
    """torch.func.grad of the sum of call(tensors) · `pattern`, a function of these tensors."""

    def total(*tensors):
        y = call(tensors)
        return (y * pattern(y)).sum()

    return torch.func.grad(total, argnums=tuple(range(len(subject.chosen))))


def func_jvp(subject: Subject) -> Callable:
    """torch.func.jvp of fn along `pattern`, a function of the chosen tensors."""

    def along(*tensors):
        directions = tuple(shaped(pattern(flat(tensors)), tensors))
        return torch.func.jvp(lambda *some: subject.apply(some), tensors, directions)[1]

    return along


def require_product(subject: Subject, yours: torch.Tensor, remedy: str = "") -> None:
    """`yours` needs to be the Jacobian times `pattern`: that of backward, or the true one."""
    tensors = subject.tensors()
    yours, direction = yours.flatten(), pattern(flat(tensors))
    place = subject.at_output(tensors, subject.call(tensors))

    def where(index):
        if subject.grid is None:
            return place(index)
        return f"{place(index)}, tangent = {exact_digits(direction[index].item())}"

    own = jacobian(subject) @ direction
    try:
        require_equal(yours, own, where)
    except SilentlyWrong:  # but perhaps it is backward that is wrong
        remedy = no_tangent(subject) or remedy or (AGREE if has_own_jvp(subject) else NOT_HIDDEN)
        true = _true_product(subject).to(own.dtype)
        factor = max(64, 1e-4 / torch.finfo(own.dtype).eps)
        require_equal(yours, true, where, remedy, factor)


def has_own_jvp(subject: Subject) -> bool:
    """Does fn call a Function with a jvp?"""
    y, _ = subject.run(subject.tensors())
    return any(
        isinstance(node, BackwardCFunction) and node._forward_cls.jvp is not Function.jvp
        for node in reachable([y.grad_fn])
    )


def _true_product(subject):
    if subject.like:
        return jacobian(subject, subject.like) @ pattern(flat(subject.tensors()))
    doubles = subject.doubles()
    vector = flat(doubles)

    def moved(step):
        tensors = shaped(vector + step * pattern(vector), doubles)
        return subject.call(tensors).detach().flatten()

    return torch.stack(partial_slopes(moved, vector.new_zeros(()))).mean(0)


def jacobian(subject: Subject, function: Callable | None = None) -> torch.Tensor:
    """The Jacobian at `subject.tensors()`, shape (outputs, inputs): one backward for each row."""
    y, leaves = subject.run(subject.tensors(), function)
    rows = []
    for one in torch.eye(y.numel(), dtype=y.dtype, device=y.device):
        grads = torch.autograd.grad(
            y, leaves, one.reshape(y.shape), retain_graph=True, materialize_grads=True
        )
        rows.append(flat(grads))
    return torch.stack(rows)


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
