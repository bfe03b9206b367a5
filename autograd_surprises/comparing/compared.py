"""What a comparison of two steps found, as text and as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from autograd_surprises.comparing.distance import NOTHING, TIMES, Distance
from autograd_surprises.numerics import few_digits
from autograd_surprises.recording.places import Where
from autograd_surprises.show.badge import Badge
from autograd_surprises.show.colours import GREEN, GREY, RED
from autograd_surprises.show.findings import Sentence, finding_html, findings_text, listed

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

    >>> ParameterDifference("w", Distance(1.0), Distance(1.0), Distance(0.1)).differs
    True
    """

    name: str
    size: Distance
    apart: Distance
    floor: Distance
    digit: Distance = NOTHING
    error_a: Distance | None = None
    error_b: Distance | None = None
    exact: Distance | None = None

    @property
    def differs(self) -> bool:
        """By more than rounding, or in float64 by more than the last digit of their own dtype?"""
        in_float64 = self.exact is not None and self.exact.beyond(self.digit)
        return self.apart.norm > 0 and (in_float64 or self.apart.beyond(self.floor))

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

    def share(self, distance: Distance) -> str:
        """A distance as a share of the gradient of a, in words."""
        return few_digits(self.relative(distance), 2)

    def relative(self, distance: Distance) -> float:
        return distance.norm / self.size.norm if self.size.norm else distance.norm

    def in_words(self) -> str:
        relative = f"relative difference {self.share(self.apart)}"
        return f"{relative}, rounding errors there {self.share(self.floor)}"


@dataclass(frozen=True)
class Compared:
    """What compare() found. Shows itself: HTML in a notebook, text elsewhere.

    status      same, differ or undecided
    sentence    of the whole, in words
    parameters  each with its difference, in the order in which backward reaches them
    first       the first of them that differs, or None
    losses      what is to be said of the losses, each with a label
    cause       why, if it is proven: custom-backward, kink, precision, rounding, shape, forward,
                operations, hook, none; or ""
    reason      the cause in words
    places      (label, line of the program)
    also        more sentences, each with a label

    >>> print(Compared("same", "bit for bit", ()))
    SAME  bit for bit
    """

    status: str
    sentence: str
    parameters: Sequence[ParameterDifference]
    first: ParameterDifference | None = None
    losses: Sequence[Sentence] = ()
    cause: str = ""
    reason: str = ""
    places: Sequence[tuple[str, Where]] = ()
    also: Sequence[Sentence] = ()

    @property
    def same(self) -> bool:
        """Are all gradients the same, up to rounding?"""
        return self.status == SAME

    def lines(self) -> list[Sentence]:
        """(label, text) for everything that is known."""
        places = [(label, str(where)) for label, where in self.places]
        cause = [("cause", self.reason)] if self.reason else []
        return [*self.losses, *cause, *places, *self.also]

    def __str__(self):
        return findings_text(f"{self.status.upper()}  {self.sentence}", self.lines())

    __repr__ = __str__

    def _repr_html_(self):
        badge = Badge(self.status.upper(), COLOURS[self.status])
        return finding_html(badge, html.escape(self.sentence), self.lines())


def largest_of(found: Sequence[ParameterDifference]) -> ParameterDifference:
    """The one that differs most, of those that are more than rounding errors."""
    meant = [each for each in found if not each.is_rounding]
    return max(meant or found, key=lambda each: each.relative(each.apart))


def reassurance(found: Sequence[ParameterDifference]) -> str:
    """One sentence on gradients that are the same, with the figures."""
    count = "the gradient of the parameter is the same"
    if len(found) > 1:
        count = f"the gradients of all {len(found)} parameters are the same"
    if all(each.apart == NOTHING for each in found):
        return f"{count}, bit for bit"
    one = largest_of(found)
    return (
        f"{count} up to rounding: the largest relative difference is about {one.share(one.apart)} "
        f"({one.name}), and rounding errors there are about {one.share(one.floor)}"
    )


def who_differs(beyond: Sequence[ParameterDifference]) -> str:
    """One sentence on those that differ, in the order of backward."""
    others = listed([each.name for each in beyond[1:]], most=3)
    return (
        f"{beyond[0].name} is the first parameter in backward whose gradient differs by more than "
        + (f"rounding; so do {others}" if others else "rounding, and the only one")
    )
