"""What every check is given: the function, and the tensors to ask it about.

Bad input is refused at once, in the user's words.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch

from autograd_surprises.numerics import exact_digits, partial_slopes
from autograd_surprises.report_card.example import Example, flat, shaped
from autograd_surprises.report_card.sampling import Samples, elementwise_grid, find_samples
from autograd_surprises.report_card.verdict import NotApplicable
from autograd_surprises.show.findings import first_line

NO_GRID = "has several inputs, is not elementwise, or refuses numbers from -12 to 12"
LARGEST = 1000  # a Jacobian has one row for each number that comes out
OUTER = (0.0, 1.0, -1.0, 4.0, -4.0, 10.0, -10.0, 100.0, -100.0)


@dataclass(frozen=True, eq=False)
class Subject(Example):
    """An example with the points to ask about, if fn is elementwise.

    >>> Subject(torch.relu, (torch.ones(2),)).tensors()[0].tolist()
    [-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0]
    """

    @cached_property
    def grid(self) -> torch.Tensor | None:
        """The numbers on which fn is elementwise, or None if it is not."""
        return elementwise_grid(self)

    @cached_property
    def samples(self) -> Samples:
        """Where an elementwise fn has kinks, and where it has none."""
        return find_samples(self, self.grid)

    def tensors(self, dtype: torch.dtype | None = None) -> list[torch.Tensor]:
        """What to ask fn about: numbers away from kinks, or the example moved off its kinks."""
        if self.grid is not None:
            chosen = [self.samples.quiet.to(self.device)]
        else:
            chosen = [_moved(tensor) for tensor in self.given]
        return [tensor.to(dtype or self.dtype, copy=True) for tensor in chosen]

    def outer(self, dtype: torch.dtype) -> torch.Tensor:
        """Ordinary numbers to ask an elementwise fn about: 0 to 100."""
        return torch.tensor(OUTER, dtype=dtype, device=self.device)

    def doubles(self) -> list[torch.Tensor]:
        """These in float64, which finite differences need."""
        self.require_float64()
        return self.tensors(torch.float64)

    @cached_property
    def coarse(self) -> float:
        """The eps of what fn returns for float64 numbers, and 0 if that is float64."""
        y = self.apply(self.doubles())
        return 0.0 if y.dtype == torch.float64 else torch.finfo(y.dtype).eps

    def require_float64(self) -> None:
        """Raises NotApplicable if fn does not run in float64, which another question is about."""
        if not self.accepts(torch.float64):
            raise NotApplicable("this needs float64, which does not work: see there")

    def require_grid(self) -> None:
        """Raises NotApplicable if fn is examined at its example alone."""
        if self.grid is None:
            raise NotApplicable(f"fn {NO_GRID}")

    def accepts(self, dtype: torch.dtype) -> bool:
        """Do forward and backward run in this dtype?"""
        try:
            self.gradients(self.tensors(dtype))
        except Exception:
            return False
        return True

    @cached_property
    def slopes_of_gradient(self) -> tuple[torch.Tensor, torch.Tensor]:
        """By finite differences, to the left and to the right: a row for each number of doubles().

        Two checks compare with them, and measuring them takes longer than the checks.
        """
        doubles = self.doubles()
        return partial_slopes(lambda x: flat(self.gradients(shaped(x, doubles))), flat(doubles))

    def at(self, tensors, words: str = "{}") -> Callable[[int], str]:
        """The words for each number, counted through these tensors: its value, or its place.

        >>> Subject(torch.relu, (torch.ones(2),)).at([torch.tensor([0.5])], "gradient {}")(0)
        'gradient at x = 0.5'
        """
        return lambda index: words.format(self._place(tensors, index))

    def at_output(self, tensors, y: torch.Tensor) -> Callable[[int], str]:
        """The words for each number of the output y."""
        if self.grid is not None:
            return self.at(tensors)
        return lambda index: f"at output{_coordinates(y, index)}"

    def _place(self, tensors, index):
        if self.grid is not None:
            x = tensors[0].flatten()[index]
            return f"at x = {exact_digits(x.item(), x.dtype)}"
        for name, tensor in zip(self.chosen, tensors, strict=True):
            if index < tensor.numel():
                return f"at input {name}{_coordinates(tensor, index)}"
            index -= tensor.numel()
        raise IndexError(index)


def _coordinates(tensor, index):
    if not tensor.dim():
        return ""
    where = torch.unravel_index(torch.tensor(index), tensor.shape)
    return f"[{', '.join(str(i.item()) for i in where)}]"


def _moved(tensor):
    """Each number a little towards another one of the same tensor: off kinks, but not outside."""
    numbers = tensor.flatten()
    weight = (torch.arange(len(numbers), device=numbers.device, dtype=numbers.dtype) % 7 + 3) / 50
    return torch.lerp(numbers, numbers.roll(1), weight).reshape(tensor.shape)


def subject_of(fn, inputs, like=None) -> Subject:
    """A Subject of what was given. Raises TypeError or ValueError if it cannot be examined.

    >>> subject_of(torch.where, (torch.tensor(True), torch.ones(2), torch.ones(2))).chosen
    (1, 2)
    """
    if not callable(fn):
        raise TypeError(
            f"fn needs to be a function, got {type(fn).__name__}: pass MyFunction.apply or a "
            "function"
        )
    if like is not None and not callable(like):
        raise TypeError(f"like needs to be a function, got {type(like).__name__}")
    if isinstance(fn, type) and issubclass(fn, torch.autograd.Function):
        raise TypeError(f"fn is the class {fn.__name__}: pass {fn.__name__}.apply")
    if isinstance(fn, torch.nn.Module) and any(True for _ in fn.parameters()):
        raise TypeError(
            f"fn is a {type(fn).__name__} with parameters of its own, whose dtype cannot be "
            "changed from outside: pass a function of x and the parameters"
        )
    subject = Subject(fn, tuple(inputs), like, _chosen(inputs))
    y, again = (_first_call(subject, fn, "fn") for _ in range(2))
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
    numbers = y.numel() + sum(tensor.numel() for tensor in subject.given)
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
        y = subject.run(subject.given, function)[0]
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
            f"{name} needs to return a floating-point tensor, got {y.dtype}: only real "
            "numbers are examined"
        )
    return y.detach()
