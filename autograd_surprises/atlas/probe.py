"""One point measured: value, gradient and the slopes beside it. Is the gradient the slope?"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite, isinf, isnan

import torch

from autograd_surprises.numerics import slope_and_limit


@dataclass(frozen=True)
class Probe:
    """What was measured at one point. All numbers are float; NaN: there is none.

    value         of the operation
    gradient      what autograd returns for an upstream gradient of 1
    left, right   the slope of the values on either side, beyond the point itself
    below, above  the limits of the values from either side, where the slope has one
    side          that of the Point: "<" or ">" for a neighbour of a number, else ""

    >>> Probe(value=0, gradient=0, left=-1, right=1, below=0, above=0).kind
    'kink'
    """

    value: float
    gradient: float
    left: float
    right: float
    below: float
    above: float
    side: str = field(default="", repr=False)

    @property
    def numbers(self) -> tuple[float, ...]:
        """All six, in this order."""
        return self.value, self.gradient, self.left, self.right, self.below, self.above

    @property
    def slopes(self) -> list[float]:
        """The slopes that were found: of a neighbour, only the one that does not cross over."""
        sides = {"<": (self.left,), ">": (self.right,), "": (self.left, self.right)}[self.side]
        return [slope for slope in sides if not isnan(slope)]

    @property
    def ends(self) -> tuple[float, float]:
        """The limits from below and above; where there is none, the value."""
        below = self.value if isnan(self.below) else self.below
        return below, self.value if isnan(self.above) else self.above

    @property
    def jumps(self) -> bool:
        """Do these two differ? Beside a pole, where the value is infinite, that is no jump."""
        pole = isinf(self.value) and (isnan(self.below) or isnan(self.above))
        return not pole and not close(*self.ends)

    @property
    def kind(self) -> str:
        """What happens here: a class of CLASSES."""
        if isnan(self.gradient):
            return "plain" if isnan(self.value) else "NaN gradient"
        if isnan(self.value):
            return "infinite" if isinf(self.gradient) else "NaN value"
        if isinf(self.gradient):
            finite = self.slopes and all(map(isfinite, self.slopes))
            return "not the slope" if finite else "infinite"
        if self.jumps and not self.side:
            sides = ((self.left, self.below), (self.right, self.above))
            on_it = [slope for slope, limit in sides if close(limit, self.value)]
            agree = [close(self.gradient, slope) for slope in on_it or self.slopes]
            return "jump" if any(agree) else "not the slope"
        if all(map(self._agrees, self.slopes)):
            return "plain"
        kink = len(self.slopes) == 2 and all(map(isfinite, self.slopes))
        return "kink" if kink and not close(*self.slopes) else "not the slope"

    def _agrees(self, slope):
        """Right beside a pole or a vertical tangent, every steep gradient is right."""
        if not isinf(slope):
            return close(self.gradient, slope)
        beside = self.side or abs(self.value) > 1e10
        return bool(beside) and abs(self.gradient) > 100 and (self.gradient > 0) == (slope > 0)

    @property
    def subgradient(self) -> str:
        """Which number autograd picks at a kink, in words.

        >>> Probe(value=0, gradient=0, left=-1, right=1, below=0, above=0).subgradient
        'their mean'
        """
        named = {
            "the left one": self.left,
            "the right one": self.right,
            "their mean": (self.left + self.right) / 2,
            "neither, but 0": 0.0,
        }
        for words, slope in named.items():
            if close(slope, self.gradient):
                return words
        between = min(self.left, self.right) < self.gradient < max(self.left, self.right)
        return "between them" if between else "outside of both"


def probe_at(value: Callable, gradient: Callable, x: torch.Tensor, side: str = "") -> Probe:
    """Measure at the number x, a float64 tensor of shape (1,); both take and return such tensors.

    >>> probe_at(torch.abs, torch.sgn, torch.zeros(1).double())
    Probe(value=0.0, gradient=0.0, left=-1.0, right=1.0, below=0.0, above=0.0)
    """
    (left, below), (right, above) = (slope_and_limit(value, x, sign) for sign in (-1, 1))
    numbers = (value(x).item(), gradient(x).item(), left, right, below, above)
    return Probe(*map(rounded, numbers), side)


def rounded(number: float) -> float:
    """Keep five significant digits, for further ones differ between processors; and no -0.0.

    >>> rounded(2 / 3)
    0.66667
    """
    short = float(f"{number:.4e}")
    return (short if isfinite(short) else number) + 0.0  # the largest numbers would overflow


def close(a: float, b: float) -> bool:
    """Are these the same number, but for rounding in float32? NaN is close to NaN.

    >>> close(0.5, 0.50001), close(0.5, 0.501)
    (True, False)
    """
    if not (isfinite(a) and isfinite(b)):
        return a == b or (a != a and b != b)
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b)) + 1e-6
