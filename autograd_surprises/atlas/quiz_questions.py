"""Questions on default gradients, made from what was measured, so that they are never stale."""

import random
import re
from dataclasses import dataclass
from math import inf, isfinite, isinf, isnan, nan

from autograd_surprises.atlas.classes import Measured
from autograd_surprises.atlas.description import describe_slopes
from autograd_surprises.atlas.elementwise_operations import CONSTANTS, WELL_KNOWN
from autograd_surprises.atlas.notes import NOTES
from autograd_surprises.atlas.point import Point
from autograd_surprises.atlas.probe import Probe, close
from autograd_surprises.atlas.record import Atlas
from autograd_surprises.numerics import few_digits

OPTIONS = 5  # at most
LENGTH = 4  # longer numbers are no fun to read
WARM_UP = 3  # questions about well-known operations
TIE = "torch.maximum(x, one)"
# In the atlas it stands beside both slopes. Alone, "the right one" could mean the correct one.
RETURNED = {"the left one": "the slope on the left", "the right one": "the slope on the right"}


@dataclass(frozen=True)
class Question:
    """One question: an operation, a point, and what was measured there.

    text     the question
    right    the measured gradient, as text
    options  {option: why it is right, or what that number would be}
    """

    expression: str
    point: Point
    probe: Probe
    halves_ties: bool  # does torch.maximum?

    @property
    def text(self) -> str:
        names = re.findall(rf"\b(?:{'|'.join(CONSTANTS)})\b", self.expression)
        names = [f"`{name}`" for name in dict.fromkeys(names)]
        are = "are tensors" if names[1:] else "is a tensor"
        note = f" ({' and '.join(names)} {are}.)" if names else ""
        return f"What does autograd return for `{self.expression}` at x = {self.point}?{note}"

    @property
    def right(self) -> str:
        return few_digits(self.probe.gradient)

    @property
    def options(self) -> dict[str, str]:
        probe = self.probe
        mean = [self._mean] if _is_short(self._mean) and isfinite(self._mean) else []
        numbers = {}
        for number in (probe.gradient, *probe.slopes, *mean, 0.0, 1.0, nan, inf):
            numbers.setdefault(few_digits(number), number)
        chosen = sorted(list(numbers.values())[:OPTIONS], key=lambda n: (isnan(n), n))
        return {few_digits(number): self._why(number) for number in chosen}

    @property
    def _mean(self):
        return (self.probe.left + self.probe.right) / 2

    def _why(self, number):
        return self._why_right() if few_digits(number) == self.right else self._why_wrong(number)

    def _why_right(self):
        probe, value = self.probe, f"The value is {few_digits(self.probe.value)}"
        if probe.kind == "kink":
            left, right = few_digits(probe.left), few_digits(probe.right)
            returned = RETURNED.get(probe.subgradient, probe.subgradient)
            return f"Two slopes meet, {left} and {right}. Autograd returns {returned}."
        if probe.kind == "jump":
            on_left, on_right = (close(probe.gradient, s) for s in (probe.left, probe.right))
            side = "both sides" if on_left and on_right else "the left" if on_left else "the right"
            jump = " to ".join(map(few_digits, probe.ends))
            return f"The value jumps from {jump}, and the gradient is the slope on {side}."
        if probe.kind == "infinite" and probe.gradient in (probe.left, probe.right):
            return f"{value}, and the slope beside it grows without bound."
        note = f": {NOTES[self.expression]}" if self.expression in NOTES else ""
        return {
            "infinite": f"{value}, and the gradient is infinite.",
            "NaN gradient": f"{value}, but backward computes something undefined, such as 0 · inf.",
            "NaN value": "The value is nan, but the gradient is a number.",
            "not the slope": f"Autograd returns a number that differs from the "
            f"{describe_slopes(probe)}{note}.",
        }[probe.kind]

    def _why_wrong(self, number):
        probe = self.probe
        if number == probe.left == probe.right:
            return "That is the slope on both sides."
        for side, slope in (("left", probe.left), ("right", probe.right)):
            if number == slope:
                return f"That is the slope on the {side}."
        if number == self._mean:
            tie = ", as `torch.maximum` returns at a tie" if self.halves_ties else ""
            return f"That is the mean of both slopes{tie}."
        if number == -probe.gradient != 0:
            return "The size is right, the sign is not."
        if isnan(number) and isnan(probe.value):
            return "The value is nan, but the gradient is not."
        if isinf(number) and probe.jumps and isfinite(probe.gradient):
            return "A jump is infinitely steep, but backward does not see it."
        return {
            "nan": "nan would mean that backward computes something like 0 / 0.",
            "inf": "inf would mean that the slope grows without bound here.",
            "0": "0 would mean that no gradient passes here.",
            "1": "1 would pass the upstream gradient on unchanged.",
        }[few_digits(number)]


def choose_questions(numbers: Atlas, count: int, seed: int) -> list[Question]:
    """So many questions, of several kinds, no operation twice; a seed always gives the same ones.

    They begin with well-known operations, with others for the next seed. Raises ValueError if the
    atlas has fewer.

    >>> from autograd_surprises.atlas.record import stored
    >>> questions = choose_questions(stored("2.15"), 10, seed=0)
    >>> [question.expression for question in questions[:3]]
    ['torch.relu(x)', 'torch.clamp(x, -1, 1)', 'torch.abs(x)']
    """
    choice = random.Random(seed)
    halves_ties = _halves_ties(numbers)
    start = WARM_UP * seed % len(WELL_KNOWN)
    first = (2 * WELL_KNOWN)[start : start + WARM_UP]
    first = [expression for expression in first if expression in numbers.operations]
    shuffled = choice.sample(list(numbers.operations), len(numbers.operations))
    chosen, names, of_kind = [], set(), {}
    for expression in [*first, *shuffled]:
        name = expression.partition("(")[0].rpartition(".")[2]  # of torch and of special
        measured = numbers.operations[expression]
        points = askable(measured)
        if expression in first:
            points = [point for point in points if isfinite(float(point))]  # nan comes later
        if not points or name in names:
            continue
        point = choice.choice(points)
        probe = measured.probes[point]
        share = 0.4 if probe.kind == "kink" else 0.2  # else most would be 1 / x, log(x) or at NaN
        if of_kind.get(probe.kind, 0) < share * count:
            names.add(name)
            of_kind[probe.kind] = of_kind.get(probe.kind, 0) + 1
            chosen.append(Question(expression, point, probe, halves_ties))
    if not 1 <= count <= len(chosen):
        raise ValueError(f"count={count}: there are 1 to {len(chosen)} questions")
    return chosen[:count]


def _halves_ties(numbers):
    tie = numbers.operations.get(TIE)
    return tie is not None and tie.probes["1"].subgradient == "their mean"


def askable(measured: Measured) -> list[Point]:
    """The points with an event, where all numbers are short and any tensor gives the same.

    >>> from autograd_surprises.atlas.record import stored
    >>> askable(stored("2.15").operations["torch.hardshrink(x)"])
    ['-0.5', '0.5']
    """
    return [
        point
        for point in measured.events
        if not point.side and point not in ("-0", "-inf") and len(point) <= LENGTH + 1
        if _is_clear(measured.probes[point])
        if not any(point in pairs for pairs in measured.elsewhere.values())
    ]


def _is_clear(probe):
    jump = probe.kind == "jump" and not isnan(probe.below + probe.above)
    return all(map(_is_short, probe.numbers)) and (jump or not probe.jumps)


def _is_short(number):
    return len(few_digits(number).lstrip("-")) <= LENGTH
