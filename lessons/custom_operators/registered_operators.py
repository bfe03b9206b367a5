"""Operators of torch.library that the lesson looks at, and a compiler that keeps quiet."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.library import custom_op


def slope_of_arctangent(x: torch.Tensor) -> torch.Tensor:
    """1 / (1 + x²)

    >>> slope_of_arctangent(torch.tensor([0.0, -2.0]))
    tensor([1.0000, 0.2000])
    """
    return 1 / (1 + x * x)


def _operator(name, slope=slope_of_arctangent, fake=torch.empty_like):
    def arctangent(x: torch.Tensor) -> torch.Tensor:
        return torch.atan(x)

    def save_input(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return slope(x) * grad_output

    made = custom_op(f"lessons::{name}", arctangent, mutates_args=())
    made.register_autograd(backward, setup_context=save_input)
    made.register_vmap(lambda info, in_dims, x: (made(x), in_dims[0]))
    if fake:
        made.register_fake(lambda x: fake(x))
    return made


OPERATORS = {
    "first": _operator("first", fake=None),
    "second": _operator("second", fake=lambda x: x.new_empty(())),
    "third": _operator("third", slope=lambda x: 1 / (1 + x.abs())),
    "fourth": _operator("fourth"),
}


@torch.library.custom_op("lessons::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    """x², whose gradient is 2x."""
    return x * x


@square.register_fake
def _of_same_shape(x):
    return torch.empty_like(x)


@square.register_vmap
def _batched(info, in_dims, x):
    return square(x), in_dims[0]


def _save_input(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _double_input(ctx, grad_output):
    (x,) = ctx.saved_tensors
    return 2 * x * grad_output


square.register_autograd(_double_input, setup_context=_save_input)


@contextmanager
def quiet_compiler() -> Iterator[None]:
    """Nothing is logged and no warning shown; what is raised, is raised.

    >>> with quiet_compiler():
    ...     logging.getLogger("torch").critical("unheard")
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
