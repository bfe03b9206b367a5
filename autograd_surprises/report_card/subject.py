"""The function that is examined, its example inputs, and what is asked of them first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch

from autograd_surprises.report_card import points
from autograd_surprises.report_card.differences import flat, numeric_slopes
from autograd_surprises.report_card.verdict import NotApplicable

LARGEST = 1000  # a Jacobian has one row for each number that comes out


@dataclass(frozen=True, eq=False)
class Subject:
    """fn and like with the example inputs; `chosen` are the places of those to differentiate."""

    fn: Callable
    like: Callable | None
    inputs: tuple
    chosen: tuple[int, ...]

    @property
    def name(self) -> str:
        owner = getattr(self.fn, "__self__", None)
        if isinstance(owner, type):
            return f"{owner.__name__}.apply"
        name = getattr(self.fn, "__name__", type(self.fn).__name__)
        return "the function" if name == "<lambda>" else name

    @property
    def example(self) -> list[torch.Tensor]:
        return [self.inputs[place].detach().clone() for place in self.chosen]

    @property
    def dtype(self) -> torch.dtype:
        return self.inputs[self.chosen[0]].dtype

    @property
    def device(self) -> torch.device:
        return self.inputs[self.chosen[0]].device

    @cached_property
    def grid(self) -> torch.Tensor | None:
        """The numbers on which fn is elementwise, or None if it is not."""
        return points.elementwise_grid(self)

    @cached_property
    def points(self) -> points.Points:
        """Where an elementwise fn has kinks, and where it has none."""
        return points.find_points(self)

    @property
    def narrow(self) -> bool:
        """Does fn refuse numbers outside of the example's?"""
        return bool(self.grid[0] > -3 or self.grid[-1] < 3)

    def tensors(self, dtype: torch.dtype | None = None) -> list[torch.Tensor]:
        """What to ask fn about: points away from kinks, or the example moved off its kinks."""
        if self.grid is not None:
            chosen = [self.points.quiet.to(self.device)]
        else:
            chosen = [_moved(tensor) for tensor in self.example]
        return [tensor.to(dtype or self.dtype, copy=True) for tensor in chosen]

    def doubles(self) -> list[torch.Tensor]:
        """These in float64, which finite differences need."""
        if not self.accepts(torch.float64):
            raise NotApplicable("this needs float64, which does not work: see there")
        return self.tensors(torch.float64)

    @cached_property
    def slopes_of_gradient(self) -> tuple[torch.Tensor, torch.Tensor]:
        """By finite differences, to the left and to the right: a row for each number of doubles().

        Three questions compare with them, and they take longer than what is asked.
        """
        vector, shaped = flat(self.doubles())
        return numeric_slopes(lambda x: flat(self.gradients(shaped(x)))[0], vector)

    def accepts(self, dtype: torch.dtype) -> bool:
        """Do forward and backward run in this dtype, and keep it?"""
        tensors = self.tensors(dtype)
        try:
            self.gradients(tensors)
            return self.call(tensors).dtype == dtype
        except Exception:
            return False

    def call(self, tensors, function: Callable | None = None) -> torch.Tensor:
        """fn of copies of these tensors, because it may write into them."""
        return self.apply([tensor.clone() for tensor in tensors], function)

    def apply(self, tensors, function: Callable | None = None, dtype=None) -> torch.Tensor:
        """fn of these tensors themselves."""
        return (function or self.fn)(*self.arguments(tensors, dtype))

    def arguments(self, tensors, dtype: torch.dtype | None = None) -> list:
        """These tensors among copies of the other inputs, which get their dtype or this one."""
        arguments = [self._beside(other, dtype or tensors[0].dtype) for other in self.inputs]
        for place, tensor in zip(self.chosen, tensors, strict=True):
            arguments[place] = tensor
        return arguments

    def _beside(self, other, dtype):
        if not isinstance(other, torch.Tensor):
            return other
        return other.detach().to(dtype if other.dtype == self.dtype else other.dtype, copy=True)

    def run(self, tensors, function: Callable | None = None):
        """The output, and the leaves that it can be differentiated by."""
        leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        return self.call(leaves, function), leaves

    def gradients(self, tensors, upstream=None, function: Callable | None = None):
        """One gradient per tensor, zeros for none; upstream is a tensor, or makes one of y."""
        y, leaves = self.run(tensors, function)
        if not isinstance(upstream, torch.Tensor):
            upstream = (upstream or pattern)(y)
        return torch.autograd.grad(y, leaves, upstream.clone(), materialize_grads=True)

    def place(self, tensors, index: int) -> str:
        """Where the number `index` of all numbers in these tensors is, for the reader.

        For an elementwise fn that is the number itself.
        """
        if self.grid is not None:
            return f"at x = {number(tensors[0].flatten()[index].item(), tensors[0].dtype)}"
        for name, tensor in zip(self.chosen, tensors, strict=True):
            if index < tensor.numel():
                return f"at input {name}{_coordinates(tensor, index)}"
            index -= tensor.numel()
        raise IndexError(index)

    def output_place(self, tensors, y, index: int) -> str:
        """Where the number `index` of the output y is, for the reader."""
        if self.grid is not None:
            return self.place(tensors, index)
        return f"at output{_coordinates(y, index)}"


def examine(fn, inputs, like) -> Subject:
    """A Subject of what was given. Raises TypeError or ValueError in the user's words.

    >>> examine(torch.relu, (torch.ones(2),), None).chosen
    (0,)
    """
    for name, function in (("fn", fn), ("like", like)):
        if not callable(function) and (function is not None or name == "fn"):
            hint = ": pass MyFunction.apply or a function" if name == "fn" else ""
            raise TypeError(f"{name} needs to be a function, got {type(function).__name__}{hint}")
    if isinstance(fn, type) and issubclass(fn, torch.autograd.Function):
        raise TypeError(f"fn is the class {fn.__name__}: pass {fn.__name__}.apply")
    if isinstance(fn, torch.nn.Module) and any(True for _ in fn.parameters()):
        raise TypeError(
            f"fn is a {type(fn).__name__} with parameters of its own, whose dtype cannot be "
            "changed from outside: pass a function of x and the parameters"
        )
    subject = Subject(fn, like, tuple(inputs), _chosen(inputs))
    y = _first_call(subject, fn, "fn")
    again = _first_call(subject, fn, "fn")
    if y.shape != again.shape or not torch.equal(y.nan_to_num(), again.nan_to_num()):
        raise ValueError(
            "fn needs to return the same for the same inputs, but two calls differ: "
            "pass what is random as an input"
        )
    if like is not None:
        shape = _first_call(subject, like, "like").shape
        if shape != y.shape:
            raise ValueError(
                f"like needs to return the shape of fn, {tuple(y.shape)}, got {tuple(shape)}"
            )
    numbers = y.numel() + sum(tensor.numel() for tensor in subject.example)
    if subject.grid is None and numbers > LARGEST:
        raise ValueError(
            f"fn needs a small example, of {LARGEST} numbers in and out at most, got {numbers}: "
            "pass a slice, such as x[:4]"
        )
    return subject


def _chosen(inputs):
    floating = [
        place
        for place, tensor in enumerate(inputs)
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
    ]
    if not floating:
        given = ", ".join(
            str(i.dtype) if isinstance(i, torch.Tensor) else type(i).__name__ for i in inputs
        )
        raise TypeError(
            "fn needs at least one floating-point tensor to differentiate, got "
            f"{given or 'no inputs'}: pass an example, such as torch.linspace(-2, 2, 9)"
        )
    chosen = tuple(p for p in floating if inputs[p].requires_grad) or tuple(floating)
    for place in chosen:
        if not inputs[place].numel() or not inputs[place].isfinite().all():
            raise ValueError(
                f"input {place} needs finite numbers, at least one: an example of ordinary values; "
                "infinity, NaN and empty tensors are tried anyway"
            )
    return chosen


def _first_call(subject, function, name):
    try:
        y = subject.run(subject.example, function)[0]
    except Exception as error:
        raise ValueError(
            f"{name}(*inputs) needs to run on the example, but raised {type(error).__name__}: "
            f"{first_line(error)}"
        ) from error
    if isinstance(y, (tuple, list)):
        raise TypeError(
            f"{name} needs to return one tensor, got a {type(y).__name__} of {len(y)}: pass a "
            "function that returns one of them, such as lambda *inputs: fn(*inputs)[0]"
        )
    if not isinstance(y, torch.Tensor):
        raise TypeError(f"{name} needs to return a tensor, got {type(y).__name__}")
    if not y.is_floating_point():
        raise TypeError(
            f"{name} needs to return a floating-point tensor, got {y.dtype}: only real numbers "
            "have gradients"
        )
    return y.detach()


def pattern(tensor: torch.Tensor) -> torch.Tensor:
    """An upstream gradient that hides nothing: both signs, no symmetry, no 0 and no 1.

    >>> pattern(torch.zeros(3))
    tensor([-2.2500,  1.2500, -0.7500])
    """
    numbers = (torch.arange(tensor.numel(), device=tensor.device) * 7 % 11 - 4.5) / 2
    return numbers.to(tensor.dtype).reshape(tensor.shape)


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its kind.

    >>> first_line(ValueError("one\\ntwo"))
    'one'
    """
    return str(error).strip().partition("\n")[0] or type(error).__name__


def number(value: float, dtype: torch.dtype = torch.float64) -> str:
    """A number of this dtype with as few digits as tell it from all others.

    >>> number(0.5), number(1.0000000000000002), number(1.0000001192092896, torch.float32)
    ('0.5', '1.0000000000000002', '1.0000001')
    """
    texts = (f"{value + 0.0:.{digits}g}" for digits in range(6, 18))
    return next(text for text in texts if torch.tensor(float(text), dtype=dtype).item() == value)


def _coordinates(tensor, index):
    if not tensor.dim():
        return ""
    where = torch.unravel_index(torch.tensor(index), tensor.shape)
    return f"[{', '.join(str(i.item()) for i in where)}]"


def _moved(tensor):
    """Each number a little towards another one of the same tensor: off kinks, but not outside."""
    flat = tensor.flatten()
    weight = (torch.arange(len(flat), device=flat.device, dtype=flat.dtype) % 7 + 3) / 50
    return torch.lerp(flat, flat.roll(1), weight).reshape(tensor.shape)
