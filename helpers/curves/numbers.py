"""An elementwise function as numbers: its value, the gradient autograd returns, its true slope."""

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from numbers import Real

import torch
import torch.nn.functional as F

from autograd_surprises.backward.returned_none import functions_that_return_none
from autograd_surprises.numerics import (
    even_grid,
    measure_curve,
    noise,
    one_thread,
    same_numbers,
    slope_rounding,
)
from helpers.curves.regions import describe_regions, name_places, span


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

    @cached_property
    def touching(self) -> torch.Tensor:
        return touching(self.x)

    @property
    def touches_left(self) -> torch.Tensor:
        """For each x: does it touch the one before?"""
        return F.pad(self.touching, (1, 0))

    @property
    def touches_right(self) -> torch.Tensor:
        """For each x: does it touch the next one?"""
        return F.pad(self.touching, (0, 1))

    @cached_property
    def special(self) -> torch.Tensor:
        """For each x: does it touch another, at a jump or a kink?"""
        return self.touches_left | self.touches_right

    def disagreement(self) -> list[tuple[float, float]]:
        """Intervals (start, stop) of x on which autograd's gradient is not the slope of y.

        At a kink every number between the two one-sided slopes agrees; where y is NaN no number
        does. Where a jump leaves no slope to compare with, nothing is reported. A single point has
        start == stop.

        >>> gradient_curve(lambda x: x + (x.round() - x).detach()).disagreement()
        [(-3.0, 3.0)]
        """
        return list(self._mismatches)

    @cached_property
    def _mismatches(self):
        wrong, right = self._judged()
        if not wrong.any():
            return []
        known = wrong | right | self._may_end  # an unknown slope ends no mismatch
        x, may_end = self.x[known].tolist(), self._may_end[known].tolist()
        right_so_far = right[known].cumsum(0).tolist()
        digits = 12 - math.floor(math.log10(self.x[-1] - self.x[0]))
        mismatches = []
        for _, run in groupby(wrong[known].nonzero().flatten().tolist(), right_so_far.__getitem__):
            run = list(run)
            first, last = run[0], run[-1]
            first -= first > 0 and may_end[first - 1]  # up to the kink beside it
            last += last + 1 < len(x) and may_end[last + 1]
            # neighbours are one; no -0.0
            mismatches.append(tuple(round(x[end], digits) + 0.0 for end in (first, last)))
        return mismatches

    @cached_property
    def _may_end(self):
        """Where a mismatch may end, and one known slope is enough: jumps, kinks, ends of x."""
        ends = self.special.clone()
        ends[0] = ends[-1] = True
        return ends

    def _judged(self):
        """(is the gradient another number than the slope, is it the slope) of each x."""
        left, right = self.slope_left * self.grad_output, self.slope_right * self.grad_output
        low, high = torch.fmin(left, right), torch.fmax(left, right)  # NaN only where both are
        finite = self.grad[self.grad.isfinite()].abs()
        scale = min(1.0, finite.max().item()) if len(finite) else 1.0
        rounding = slope_rounding(self.y, self.x[-1] - self.x[0])
        tolerance = 1e-4 * (scale + torch.maximum(low.abs(), high.abs())) + rounding
        agrees = (self.grad >= low - tolerance) & (self.grad <= high + tolerance)
        undefined = self.y.isnan() & self.grad.isfinite()
        judged = undefined | ~(left + right).isnan() | (self._may_end & ~low.isnan())
        return judged & (undefined | ~agrees), judged & agrees & ~undefined

    def jumps(self, values: torch.Tensor) -> list[int]:
        """Indices i such that `values` (y or grad) jump between the float neighbours x[i], x[i+1].

        >>> curve = gradient_curve(torch.relu)
        >>> curve.x[curve.jumps(curve.grad)]
        tensor([0.], dtype=torch.float64)
        """
        steep = 1e4 * noise(values)  # the rise of sqrt from 0 to its neighbour is not a jump
        jump = self.touching & (values.diff().abs() > steep)
        return jump.nonzero().flatten().tolist()

    def ordinary(self, values: torch.Tensor) -> torch.Tensor:
        """The finite values (of y or grad), without those that only neighbours of a pole reach.

        >>> curve = gradient_curve(torch.sqrt, (0, 1))
        >>> curve.grad[1] > 1e6, curve.ordinary(curve.grad).max() < 11
        (tensor(True), tensor(True))
        """
        return values[self._is_ordinary(values)]

    def _is_ordinary(self, values):
        size = values.abs()
        finite, plain = size < torch.inf, ~self.special
        usual = size[finite & plain]
        reach = 2 * usual.max() if len(usual) else torch.inf
        return finite & (plain | (size <= reach))

    def describe(self) -> str:
        """One line: value, gradient and slope with their regions, and where the last two differ.

        >>> gradient_curve(torch.clamp, min=-1, max=1).describe()
        'value -1 to 1, gradient 1 from -1 to 1, 0 outside, slope the same'
        """
        value, gradient = (
            describe_regions(self.x, values, self._is_ordinary(values), self.jumps(values))
            for values in (self.y, self.grad)
        )
        places = self.disagreement()
        times = "" if self.grad_output == 1 else " · grad_output"
        if "," in gradient and not places:  # it has regions, too long to be named twice
            slope = "the same"
        else:
            rounding = slope_rounding(self.y, self.x[-1] - self.x[0]).max() * abs(self.grad_output)
            slope = span(self.ordinary(self.slope * self.grad_output), rounding.item())
        line = f"value {value}, gradient {gradient}, slope{times} {slope}"
        width = (self.x[-1] - self.x[0]).item()
        return f"{line}; they differ {name_places(places, width)}" if places else line


def touching(x: torch.Tensor) -> torch.Tensor:
    """For each x[i] but the last: is x[i+1] its float neighbour, at a jump or a kink?

    >>> touching(torch.tensor([0.0, 1e-15, 1.0]).double())
    tensor([ True, False])
    """
    return x.diff() <= 1e-12 * (x[-1] - x[0]) + 1e-15 * x[1:].abs()


def gradient_curve(
    fn: Callable[..., torch.Tensor],
    x: tuple[float, float] = (-3.0, 3.0),
    points: int = 401,
    *,
    kinks: Iterable[float] = (),
    grad_output: float = 1.0,
    **params: object,
) -> GradientCurve:
    """Measure fn(x, **params) on an interval: value, autograd's gradient, true slope.

    Samples `points` evenly spaced float64 numbers, 0, your `kinks`, and the jumps and kinks that
    it finds between them, each with its float neighbours. (It may miss a peak narrower than the
    spacing: ask for more `points`.) Raises TypeError or ValueError if fn is not elementwise,
    changes shape or dtype, cuts the graph, or changes too fast for the spacing.

    >>> curve = gradient_curve(torch.clamp, (-2, 2), min=-1, max=1)
    >>> curve.grad[curve.x.abs() > 1].unique()
    tensor([0.], dtype=torch.float64)
    """
    low, high = interval(x)
    if isinstance(points, bool) or not isinstance(points, int) or points < 2:
        raise ValueError(f"points needs to be an integer of at least 2, got {points!r}")
    kinks = [float(kink) for kink in kinks]
    outside = [kink for kink in kinks if not low <= kink <= high]
    if outside:  # a kink outside the interval is a mistake
        raise ValueError(f"kinks need to lie in x = ({low:g}, {high:g}), got {outside}")
    if not isinstance(grad_output, Real) or not math.isfinite(grad_output):
        raise TypeError(f"grad_output needs to be a finite number, got {grad_output!r}")
    if not callable(fn):
        raise TypeError(f"fn needs to be a function of a tensor, got {type(fn).__name__}")

    def numbers(x, rows=1):
        # fn gets a copy, because it may work in place, and one that needs a gradient, because it
        # may call autograd itself
        x = x.detach().requires_grad_()
        y = _checked(fn, x, fn(x.clone(), **params))
        if rows == 1:
            return [y.detach()]
        grad = None
        if y.requires_grad:
            (grad,) = torch.autograd.grad(y, x, torch.full_like(y, grad_output), allow_unused=True)
        if grad is None:
            raise ValueError(_why_none(fn, x, params))
        return y.detach(), grad.detach()

    with one_thread(), torch.enable_grad():
        grid = even_grid(low, high, points)
        third = slice(points // 3, 2 * points // 3)
        # the same points backwards, fewer of them, and among others, need to give the same
        y = numbers(grid.flip(0))[0].flip(0)
        elementwise = same_numbers(y[third], *numbers(grid[third]))
        if elementwise:
            curve = GradientCurve(*measure_curve(numbers, grid, kinks), float(grad_output))
            elementwise = same_numbers(y, curve.y[torch.searchsorted(curve.x, grid)])
        if not elementwise:
            raise ValueError(
                f"{fn_name(fn)} needs to be elementwise and repeatable, but the same points gave "
                "other values in another tensor: each y[i] may depend on x[i] only"
            )
        _check_resolved(fn, curve)
    return curve


def _why_none(fn, x, params):
    """Why autograd has no gradient of fn(x): a Function returned None, or nothing leads to x."""
    with torch.enable_grad():
        y = fn(x.clone(), **params)
    if names := functions_that_return_none(y, x):
        several = " and ".join(f"{name}.backward" for name in names)
        return f"backward returned None: end {several} with return and a gradient for each input"
    return (
        f"the result of {fn_name(fn)} is not connected to x: detach(), item(), NumPy, a comparison "
        "or torch.no_grad() cuts the graph; a constant never had one; and some operations have no "
        "derivative"
    )


def interval(x: tuple[float, float]) -> tuple[float, float]:
    """The two ends of x, checked. Raises TypeError or ValueError for what is no interval.

    >>> interval([-3, 3])
    (-3.0, 3.0)
    """
    try:
        low, high = map(float, x)
    except (TypeError, ValueError):
        raise TypeError(f"x needs to be two numbers (low, high), got {x!r}") from None
    if not (low < high and math.isfinite(high - low)):
        raise ValueError(f"x needs low < high, both finite, got ({low:g}, {high:g})")
    if high - low < 1e-7 * max(abs(low), abs(high)):
        raise ValueError(f"x = ({low}, {high}) is too short to tell a slope from rounding")
    return low, high


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


def _check_resolved(fn, curve):
    """Raise ValueError if the value changes between two points by more than its slopes say."""
    slope = (curve.slope_right[:-1] + curve.slope_left[1:]) / 2
    change = curve.y.diff()
    excess = ((change - slope * curve.x.diff()).abs() - change.abs() / 2)[~curve.touching]
    few = 0.2 * len(excess)
    # the noise is seldom needed, and takes as long as the rest
    if (excess > 0).sum() > few and (excess > noise(curve.y)).sum() > few:
        raise ValueError(
            f"{fn_name(fn)} changes faster than {len(curve.x)} points can show: "
            "choose a shorter interval x, or more points"
        )


def fn_name(fn) -> str:
    """What to call fn in a sentence: its __name__, or its class."""
    name = getattr(getattr(fn, "func", fn), "__name__", type(fn).__name__)  # partial has func
    return "the function" if name == "<lambda>" else name


def input_name(fn) -> str:
    """What fn calls its input: the name of its first parameter, or x."""
    try:
        first = next(iter(inspect.signature(fn).parameters.values()))
    except (TypeError, ValueError, StopIteration):  # a builtin does not reveal the name
        return "x"
    return "x" if first.kind is first.VAR_POSITIONAL else first.name
