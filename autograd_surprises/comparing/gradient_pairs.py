"""Whose gradients two runs of one module compute differently, and how much of it is rounding."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import torch

from autograd_surprises.numerics import distinct_digits, few_digits
from autograd_surprises.show.findings import Sentence, findings_text, listed

Gradients = Mapping[str, "torch.Tensor | None"]  # by name, in the order in which they arrived
Pair = tuple[Gradients, Gradients]  # of run a and of run b

SAME, DIFFER, UNDECIDED = "same", "differ", "undecided"
TIMES = 8  # a difference is more than rounding beyond so many times the error of run a
UNLIKE = 0.01  # of all gradients: two runs that differ by more are not the same
UNSTEADY = (
    "run {} gives other gradients each time: the model keeps something from run to run, or draws "
    "random numbers that cannot be put back"
)
HIDDEN = (
    "what differs may be rounding, or not: in float64 the gradients are others, because rounding "
    "is large here or because the model computes something else there"
)
ROUNDING = "rounding: in float64 both compute the same, so one of them loses digits"
KINK = (
    "a kink or a tie, where a and b follow other conventions: with each parameter moved by about "
    "a hundredth, both gradients are the same"
)


@dataclass(frozen=True)
class ParameterDifference:
    """The gradients of one parameter in both runs: how large, how far apart, in norms."""

    name: str
    size: float
    apart: float
    floor: float  # how far rounding, or runs that are not the same twice, may put them apart
    differs: bool
    exact: float | None  # how far they are apart in float64; None if that is not known

    @property
    def only_rounded(self) -> bool:
        """Are both the same in float64, but for its own rounding?"""
        return self.exact is not None and self.exact <= self.apart / 1000

    def __str__(self):
        norms = self.apart, self.floor, *(() if self.exact is None else (self.exact,))
        shares = [few_digits(norm / (self.size or 1.0), 2) for norm in norms]
        said = "relative difference {}, rounding errors there {}".format(*shares)
        return f"{said}; in float64 {shares[2]}" if shares[2:] else said


@dataclass(frozen=True)
class Compared:
    """What was found. It shows itself as text.

    status      same, differ or undecided
    parameters  each with its difference, in the order in which backward reaches them
    cause       why, if it is known: kink, rounding, custom-backward or compiler; or ""
    rows        more sentences, each with a label

    >>> print(Compared("same", "bit for bit", ()))
    SAME  bit for bit
    """

    status: str
    sentence: str
    parameters: Sequence[ParameterDifference]
    cause: str = ""
    rows: Sequence[Sentence] = ()

    def __str__(self):
        return findings_text(f"{self.status.upper()}  {self.sentence}", self.rows)

    __repr__ = __str__


def judged(
    once: Pair, again: Pair, exact: Pair | None, trouble: str, nearby: Callable[[], Pair]
) -> Compared:
    """What the gradients of both runs, each run twice, say.

    exact   the same in float64, or None, and `trouble` says why they are not known
    nearby  computes both with each parameter moved a little

    >>> one, two = {"w": torch.tensor([1.0])}, {"w": torch.tensor([1 + 1e-7])}
    >>> judged((one, two), (one, two), (one, one), "", tuple).status
    'same'
    """
    size = math.hypot(*map(_size, once[0].values()))
    for name, first, second in zip("ab", once, again, strict=True):
        if math.hypot(*(distance(first[key], second[key]) for key in first)) > UNLIKE * size:
            return Compared(UNDECIDED, UNSTEADY.format(name), ())
    found = _differences(once, again, exact)
    differ = [each for each in found if each.differs]
    digit = max((torch.finfo(g.dtype).eps for g in once[0].values() if g is not None), default=0.0)
    half, usual = digit**0.5 * size, TIMES * digit * size
    is_small = math.hypot(*(each.apart for each in differ)) <= half
    if differ and exact is None and is_small:
        why = f"how much of it is rounding is not known, because {trouble}"
        return Compared(UNDECIDED, f"{_largest(differ)}; {why}", found)
    errors, apart = (math.hypot(*(getattr(each, n) for each in found)) for n in ("floor", "apart"))
    if not differ and errors > half and apart > usual:
        return Compared(UNDECIDED, HIDDEN, found)
    rounded = all(each.only_rounded for each in differ)
    # A gradient that is lost is no rounding, however small beside the others.
    if rounded and is_small and all(e.apart <= max(e.size / 10, usual) for e in differ):
        return Compared(SAME, _reassurance(found), found)
    first, *others = differ
    cause, reason = "", ""
    if rounded and first.apart < first.size / 10:  # more is a fault that float64 does not have
        cause, reason = "rounding", ROUNDING
    elif first.apart < math.inf and (
        distance(*(gradients[first.name] for gradients in nearby())) < first.apart / 100
    ):
        cause, reason = "kink", KINK
    listing = listed([each.name for each in others], most=3)
    sentence = (
        f"{first.name} is the first parameter in backward whose gradient differs by more than "
        + (f"rounding; so do {listing}" if others else "rounding, and the only one")
    )
    numbers = in_numbers(*(gradients[first.name] for gradients in once))
    rows = [("cause", reason)] * bool(reason) + [(first.name, f"{numbers}; {first}")]
    return Compared(DIFFER, sentence, found, cause, rows)


def _differences(once, again, exact):
    (a, b), found = once, []
    sizes = {name: _size(gradient) for name, gradient in a.items()}
    errors = {name: distance(a[name], exact[0][name]) if exact else 0.0 for name in a}
    shares = [errors[name] / size for name, size in sizes.items() if size]
    usual = median(shares) if shares else 0.0
    for name, size in sizes.items():
        digit = torch.finfo(a[name].dtype).eps / 2 if a[name] is not None else 0.0
        unsteady = [distance(*(run[k][name] for run in (once, again))) for k in (0, 1)]
        floor = max(*unsteady, size * max(usual, digit), errors[name])
        apart = distance(a[name], b[name])
        both = distance(*(run[name] for run in exact)) if exact else None
        differs = apart > TIMES * floor or (both or 0.0) > TIMES * size * digit
        found.append(ParameterDifference(name, size, apart, floor, differs and apart > 0, both))
    return found


def distance(a: torch.Tensor | None, b: torch.Tensor | None) -> float:
    """The norm of the difference; inf if it is not finite.

    >>> distance(torch.tensor([3.0, 1.0]), torch.tensor([0.0, 5.0]))
    5.0
    """
    norm = _difference(a, b).abs().norm().item()
    return norm if math.isfinite(norm) else math.inf


def _difference(a, b):
    """a - b in float64 (or complex128), 0 where both are the same inf or NaN; None counts as 0."""
    a, b = (t if t is None else t.to(torch.promote_types(t.dtype, torch.float64)) for t in (a, b))
    a = a if a is not None else torch.zeros(()) if b is None else torch.zeros_like(b)
    b = torch.zeros_like(a) if b is None else b
    return (a - b).masked_fill((a == b) | (a.isnan() & b.isnan()), 0)


def _size(gradient):
    """The norm of what is finite."""
    return 0.0 if gradient is None else distance(gradient.nan_to_num(0, 0, 0), None)


def in_numbers(a: torch.Tensor | None, b: torch.Tensor | None) -> str:
    """Both numbers where they differ most.

    >>> in_numbers(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0]))
    '2 in a, 5 in b at [1]'
    """
    apart = _difference(a, b).abs().nan_to_num(torch.inf)
    place = [int(i) for i in torch.unravel_index(apart.argmax(), apart.shape)]
    numbers = [t if t is None else t[tuple(place)] for t in (a, b)]
    numbers = [n if n is None else n.abs().item() if n.is_complex() else n.item() for n in numbers]
    if None in numbers:
        here, there = ("None" if n is None else few_digits(n) for n in numbers)
    else:
        here, there = distinct_digits(*numbers)
    return f"{here} in a, {there} in b" + (f" at {place}" if place else "")


def _largest(found):
    """The largest difference in words, of those that are more than rounding errors."""
    meant = [each for each in found if each.floor <= each.size / 2] or found
    one = max(meant, key=lambda each: each.apart / (each.size or 1.0))
    return f"the largest difference is that of {one.name}: {one}"


def _reassurance(found):
    """One sentence on gradients that are the same, with the figures."""
    count = f"the gradients of all {len(found)} parameters are the same"
    if not any(each.apart for each in found):
        return f"{count}, bit for bit"
    return f"{count} up to rounding; {_largest(found)}"
