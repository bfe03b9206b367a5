"""What a comparison of two steps found, as text and as HTML."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field

from autograd_surprises.comparing.distance import NOTHING, TIMES, Distance
from autograd_surprises.numerics import few_digits
from autograd_surprises.recording.places import Where
from autograd_surprises.show.badge import Badge
from autograd_surprises.show.colours import GREEN, GREY, RED
from autograd_surprises.show.findings import Sentence, finding_html, findings_text

SAME, DIFFER, UNDECIDED = "same", "differ", "undecided"
COLOURS = {SAME: GREEN, DIFFER: RED, UNDECIDED: GREY}


@dataclass(frozen=True)
class ParameterDifference:
    """The gradients of one parameter in both steps.

    name     of the parameter
    size     of the gradient of a
    apart    how far that of b is from it
    floor    how far rounding, or steps that are not the same twice, may put them apart
    digit    what rounding each of its numbers once may change
    error_a, error_b  how far they are from that of step a in float64; None if that is not known
    exact    how far both are apart in float64; None if that is not known
    place    index of the element that differs most
    number_a, number_b  there

    >>> one, none = Distance(1.0, 1.0), Distance(0.0, 0.0)
    >>> ParameterDifference("w", one, one, none, none, None, None, None, (0,), 1.0, 2.0).differs
    True
    """

    name: str
    size: Distance
    apart: Distance
    floor: Distance
    digit: Distance
    error_a: Distance | None
    error_b: Distance | None
    exact: Distance | None
    place: tuple[int, ...]
    number_a: float | None
    number_b: float | None

    @property
    def differs(self) -> bool:
        """By more than rounding, or in float64 by more than the last digit of their own dtype?"""
        beyond = self.apart.beyond(self.floor)
        if self.exact is not None:
            beyond = beyond or self.exact.beyond(self.digit)
        return self.apart != NOTHING and beyond

    @property
    def is_rounding(self) -> bool:
        """Is the gradient of a mostly rounding error, as that of a bias before a batch norm?"""
        return self.floor.norm > self.size.norm / 2

    @property
    def only_rounded(self) -> bool:
        """Are both the same in float64, but for its own rounding?"""
        if self.exact is None or not math.isfinite(self.exact.norm):
            return False
        return self.exact.norm <= self.apart.norm / 1000

    @property
    def nearer(self) -> str:
        """Which step is much nearer to float64: a, b, or neither ("")."""
        if self.error_a is None or self.error_b is None:
            return ""
        a, b = self.error_a.norm, self.error_b.norm
        return "a" if b > TIMES * a else "b" if a > TIMES * b else ""

    def relative(self, distance: Distance | None) -> float:
        """A distance as a share of the gradient of a."""
        if distance is None:
            return float("nan")
        return distance.norm / self.size.norm if self.size.norm else distance.norm


@dataclass(frozen=True)
class Compared:
    """What compare() found. Shows itself: HTML in a notebook, text elsewhere.

    status      same, differ or undecided
    sentence    of the whole, in words
    parameters  each with its difference, in the order in which backward reaches them
    first       the first of them that differs, or None
    losses      what is to be said of the losses, each with a label
    cause       why, if it is proven: custom-backward, kink, precision, shape, forward, operations,
                hook, none; or ""
    reason      the cause in words
    places      (label, line of the program)
    also        more sentences, each with a label

    >>> print(Compared("same", "bit for bit", ()))
    SAME  bit for bit
    """

    status: str
    sentence: str
    parameters: tuple[ParameterDifference, ...]
    first: ParameterDifference | None = None
    losses: tuple[Sentence, ...] = ()
    cause: str = ""
    reason: str = ""
    places: tuple[tuple[str, Where], ...] = ()
    also: tuple[Sentence, ...] = field(default=())

    @property
    def same(self) -> bool:
        """Are all gradients the same, up to rounding?"""
        return self.status == SAME

    def lines(self) -> list[Sentence]:
        """(label, text) for everything that is known."""
        rows = [*self.losses, ("cause", self.reason)]
        rows += [(label, str(where)) for label, where in self.places]
        rows += self.also
        return [(label, text) for label, text in rows if text]

    def __str__(self):
        return findings_text(f"{self.status.upper()}  {self.sentence}", self.lines())

    __repr__ = __str__

    def _repr_html_(self):
        badge = Badge(self.status.upper(), COLOURS[self.status])
        head = html.escape(self.sentence)
        return finding_html(badge, head, self.lines())


def share(number: float) -> str:
    """A relative size in a few digits.

    >>> share(1.23456e-7)
    '1.2e-07'
    """
    return few_digits(number, 2)
