"""Is a function elementwise?"""

from collections.abc import Callable

import torch


def is_elementwise(function: Callable, x: torch.Tensor) -> bool:
    """Does each number of function(x) depend on its own number of x alone?

    Compares function(x) with what the function makes of two vectors: the middle third of x, and
    its finite numbers in reverse. So the same numbers must give the same results again, among
    other numbers, at other places and, if x has several dimensions, in one. The result needs to
    have the shape and the dtype of x. Errors of the function are raised.

    >>> x = torch.linspace(-2, 2, 9)
    >>> is_elementwise(torch.sin, x), is_elementwise(lambda x: x / x.max(), x)
    (True, False)
    """
    y, numbers = function(x), x.flatten()
    if not isinstance(y, torch.Tensor) or y.shape != x.shape or y.dtype != x.dtype:
        return False
    places, third = torch.arange(len(numbers)), max(1, len(numbers) // 3)
    parts = places[third : 2 * third], places[numbers.isfinite().cpu()].flip(0)
    return all(same_numbers(y.flatten()[part], function(numbers[part])) for part in parts)


def same_numbers(some: torch.Tensor, others: object) -> bool:
    """Are both tensors of one shape, with the same numbers but for rounding?"""
    if not isinstance(others, torch.Tensor) or some.shape != others.shape:
        return False
    # equal is faster, but sees no NaN as the same
    return torch.equal(some, others) or torch.allclose(
        some, others, rtol=1e-9, atol=1e-12, equal_nan=True
    )
