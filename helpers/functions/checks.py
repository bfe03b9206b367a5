"""What the operations accept, and the errors they raise for the rest."""

from numbers import Integral, Real

import torch


def floating(x, name: str) -> torch.Tensor:
    """x, or TypeError if it is not a tensor of floating-point numbers.

    >>> floating(torch.tensor(0.5), "round_ste")
    tensor(0.5000)
    """
    if not isinstance(x, torch.Tensor):
        raise TypeError(
            f"{name} needs a floating-point tensor, got {type(x).__name__}: "
            "wrap numbers with torch.tensor(...)"
        )
    if not x.is_floating_point():
        raise TypeError(
            f"{name} needs a floating-point tensor, got {x.dtype}: "
            "gradients exist only for real numbers, convert with x.float()"
        )
    return x


def real_number(value, label: str, name: str) -> float:
    """value in a form that torch accepts, or TypeError if it is not a number.

    >>> real_number(1, "max", "clamp")
    1.0
    """
    if not isinstance(value, (float, int, Real)) or isinstance(value, bool):  # Real is slow
        raise TypeError(
            f"{name} needs a number as {label}, got {type(value).__name__}: "
            "for a tensor with one element pass its .item()"
        )
    return float(value)


def finite_number(value, label: str, name: str) -> float:
    """value, or ValueError if it is infinite or NaN.

    >>> finite_number(2, "factor", "scale_gradient")
    2.0
    """
    number = real_number(value, label, name)
    if not abs(number) < torch.inf:
        raise ValueError(f"{name} needs a finite {label}, got {value}")
    return number


def integer_range(low, high, name: str) -> tuple[int, int]:
    """Both ends, or TypeError if they are not integers, ValueError if the range is empty.

    >>> integer_range(-8, 7, "fake_quantize")
    (-8, 7)
    """
    low, high = integer(low, "quant_min", name), integer(high, "quant_max", name)
    if not low < high:
        raise ValueError(f"{name} needs quant_min < quant_max, got {low} and {high}")
    return low, high


def integer(value, label: str, name: str) -> int:
    """value, or TypeError if it is not an integer.

    >>> integer(3, "zero_point", "fake_quantize")
    3
    """
    if not isinstance(value, (int, Integral)) or isinstance(value, bool):
        raise TypeError(f"{name} needs an integer as {label}, got {value!r}")
    return int(value)


def one_per_channel(value: torch.Tensor, x: torch.Tensor, label: str, name: str) -> torch.Tensor:
    """value, or ValueError if it does not broadcast to x.

    >>> one_per_channel(torch.ones(1, 1), torch.zeros(2, 3), "scale", "fake_quantize")
    tensor([[1.]])
    """
    try:
        value.expand(x.shape)
    except RuntimeError:
        raise ValueError(
            f"{name} needs a {label} that broadcasts to x, one number or one per channel such as "
            f"(channels, 1), got {tuple(value.shape)} for x of {tuple(x.shape)}"
        ) from None
    return value


def holds_everywhere(condition: torch.Tensor) -> bool:
    """False if some number breaks the condition; True if torch does not let the numbers be read.

    >>> holds_everywhere(torch.tensor([0.1, 0.0]) > 0)
    False
    """
    if torch.compiler.is_compiling():
        return True
    try:
        return bool(condition.all())
    except RuntimeError:  # inside torch.func.vmap
        return True
