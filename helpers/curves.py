"""An elementwise function as numbers: its value, the gradient autograd returns, its true slope."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from helpers.sampling import noise, one_sided_slopes, special_points


@dataclass(frozen=True)
class GradientCurve:
    """What `gradient_curve` measured. All tensors are float64 of shape (n,), in the order of x.

    x                        sampled points, increasing
    y                        fn(x)
    grad                     what autograd returns for the upstream gradient `grad_output`
    slope_left, slope_right  one-sided slopes of y by finite differences; NaN across a jump
    slope                    their mean, the central difference
    """

    x: torch.Tensor
    y: torch.Tensor
    grad: torch.Tensor
    slope_left: torch.Tensor
    slope_right: torch.Tensor
    grad_output: float

    @property
    def slope(self) -> torch.Tensor:
        return (self.slope_left + self.slope_right) / 2

    @property
    def touching(self) -> torch.Tensor:
        """For each x[i] but the last: are x[i] and x[i+1] float neighbours at a special point?"""
        return self.x.diff() <= 1e-12 * (self.x[-1] - self.x[0])

    def disagreement(self) -> list[tuple[float, float]]:
        """Intervals (start, stop) of x on which autograd's gradient is not the slope of y.

        At a kink every number between the two one-sided slopes agrees. Where a jump leaves no
        slope to compare with, nothing is said. A single point has start == stop.

        >>> gradient_curve(lambda x: x + (x.round() - x).detach()).disagreement()
        [(-3.0, 3.0)]
        """
        sides = torch.stack([self.slope_left, self.slope_right]) * self.grad_output
        known = ~sides.isnan()
        low = sides.where(known, torch.inf).amin(0)
        high = sides.where(known, -torch.inf).amax(0)
        tolerance = 1e-4 * (1 + torch.maximum(low.abs(), high.abs()))
        agrees = (self.grad >= low - tolerance) & (self.grad <= high + tolerance)
        runs, run = [], []
        for i, (judged, fine) in enumerate(
            zip(known.any(0).tolist(), agrees.tolist(), strict=True)
        ):
            if judged and fine:
                runs.append(run)
                run = []
            elif judged:
                run.append(i)
        runs.append(run)
        return [self._interval(run[0], run[-1]) for run in runs if run]

    def _interval(self, first, last):
        """From x[first] to x[last], or to the jump or kink beside them."""
        x, special = self.x.tolist(), [False, *self.touching.tolist(), False]
        start = x[first - 1] if first > 0 and special[first - 1] else x[first]
        stop = x[last + 1] if last + 1 < len(x) and special[last + 2] else x[last]
        digits = 12 - math.floor(math.log10(x[-1] - x[0]))  # float neighbours become one number
        return round(start, digits) + 0.0, round(stop, digits) + 0.0  # -0.0 becomes 0.0

    def jumps(self, values: torch.Tensor) -> list[int]:
        """Indices i such that `values` (y or grad) jump between the float neighbours x[i], x[i+1].

        >>> curve = gradient_curve(torch.relu)
        >>> curve.x[curve.jumps(curve.grad)]
        tensor([0.], dtype=torch.float64)
        """
        steep = 1e4 * noise(values)  # what sqrt gains from 0 to its neighbour is no jump
        jump = self.touching & (values.diff().abs() > steep)
        return jump.nonzero().flatten().tolist()

    def describe(self) -> str:
        """One line: the ranges of value, gradient and slope, and where the last two differ.

        >>> gradient_curve(torch.round).describe()
        'value -3 to 3, gradient 0, slope 0'
        """
        line = f"value {_span(self.y)}, gradient {_span(self.grad)}, slope {_span(self.slope)}"
        lies = [
            f"at {_number(start)}" if start == stop else f"from {_number(start)} to {_number(stop)}"
            for start, stop in self.disagreement()
        ]
        if not lies:
            return line
        where = " and ".join(lies) if len(lies) <= 3 else f"in {len(lies)} places"
        return f"{line}; they differ {where}"


def gradient_curve(
    fn: Callable[..., torch.Tensor],
    x: tuple[float, float] = (-3.0, 3.0),
    points: int = 401,
    *,
    kinks: Iterable[float] = (),
    grad_output: float = 1.0,
    **params,
) -> GradientCurve:
    """Measure fn(x, **params) on an interval: value, autograd's gradient, true slope.

    Samples `points` evenly spaced float64 numbers, 0, your `kinks`, and every jump of the value
    or of the gradient that lies between them, each with its float neighbours. Raises TypeError or
    ValueError if fn is not elementwise, changes shape or dtype, or cuts the graph.

    >>> curve = gradient_curve(torch.clamp, (-2, 2), min=-1, max=1)
    >>> curve.grad[curve.x.abs() > 1].unique()
    tensor([0.], dtype=torch.float64)
    """
    low, high = _interval(x)
    if isinstance(points, bool) or not isinstance(points, int) or points < 2:
        raise ValueError(f"points needs to be an integer of at least 2, got {points!r}")
    kinks = [float(kink) for kink in kinks]
    outside = [kink for kink in kinks if not low <= kink <= high]
    if outside:  # a kink that nobody looks at is a mistake
        raise ValueError(f"kinks need to lie in x = ({low:g}, {high:g}), got {outside}")
    _check_params(fn, params)

    def value(x):
        with torch.no_grad():
            return _checked(fn, x, fn(x.clone(), **params))  # a copy: fn may work in place

    def gradient(x):
        x = x.clone().requires_grad_()
        with torch.enable_grad():
            y = _checked(fn, x, fn(x, **params))
        grad = None
        if y.requires_grad:
            (grad,) = torch.autograd.grad(y, x, torch.full_like(y, grad_output), allow_unused=True)
        if grad is None:
            raise ValueError(
                f"the result of {fn_name(fn)} is not connected to x: detach(), item(), NumPy, a "
                "comparison or torch.no_grad() cuts the graph, and a constant never had one"
            )
        return grad.detach()

    grid = torch.linspace(low, high, points, dtype=torch.float64)
    _check_elementwise(fn, value, grid)
    x = special_points(value, gradient, grid, kinks)
    left, right = one_sided_slopes(value, x, high - low)
    return GradientCurve(x, value(x), gradient(x), left, right, grad_output)


def _interval(x):
    try:
        low, high = map(float, x)
    except (TypeError, ValueError):
        raise TypeError(f"x needs to be two numbers (low, high), got {x!r}") from None
    if not -torch.inf < low < high < torch.inf:
        raise ValueError(f"x needs low < high, both finite, got ({low:g}, {high:g})")
    return low, high


def _check_params(fn, params):
    if not callable(fn):
        raise TypeError(f"fn needs to be a function of a tensor, got {type(fn).__name__}")
    try:
        signature = inspect.signature(fn)
    except ValueError:  # many torch functions are builtins without a signature
        return
    try:
        signature.bind(None, **params)
    except TypeError as error:
        names = ", ".join(f"{name}={value!r}" for name, value in params.items()) or "nothing else"
        raise TypeError(
            f"{fn_name(fn)} takes {signature}, but was given x and {names}: {error}"
        ) from None


def _checked(fn, x, y):
    name = fn_name(fn)
    if not isinstance(y, torch.Tensor):
        raise TypeError(f"{name} needs to return a tensor, got {type(y).__name__}")
    if y.shape != x.shape:
        raise ValueError(
            f"{name} needs to be elementwise, but turned shape {tuple(x.shape)} into "
            f"{tuple(y.shape)}: leave out sums and other reductions"
        )
    if not y.is_floating_point():
        raise TypeError(f"{name} returned {y.dtype}, which has no gradient: return real numbers")
    if y.dtype != x.dtype:
        raise TypeError(
            f"{name} returned {y.dtype} for a float64 input, too coarse to measure a slope: "
            "keep the dtype of x"
        )
    return y


def _check_elementwise(fn, value, x):
    half = len(x) // 2
    together, apart = value(x), torch.cat([value(x[:half]), value(x[half:])])
    if not torch.allclose(together, apart, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise ValueError(
            f"{fn_name(fn)} needs to be elementwise and repeatable, but the same points gave "
            "other values in a shorter tensor: each y[i] may depend on x[i] only"
        )


def fn_name(fn) -> str:
    """What to call fn in a sentence: its __name__, or its class."""
    name = getattr(fn, "__name__", type(fn).__name__)
    return "the function" if name == "<lambda>" else name


def input_name(fn) -> str:
    """What fn calls its input: the name of its first parameter, or x."""
    try:
        first = next(iter(inspect.signature(fn).parameters.values()))
    except (TypeError, ValueError, StopIteration):  # a builtin keeps the name to itself
        return "x"
    return "x" if first.kind is first.VAR_POSITIONAL else first.name


def _number(number):
    number = float(number)
    if abs(number) >= 1e4:
        return f"{number:.0e}"
    return f"{round(number, 2) + 0.0:g}"  # + 0.0 turns -0.0 into 0.0


def _span(values):
    finite = values[values.isfinite()]
    if not len(finite):
        return "nowhere finite"
    low, high = _number(finite.min()), _number(finite.max())
    return low if low == high else f"{low} to {high}"
