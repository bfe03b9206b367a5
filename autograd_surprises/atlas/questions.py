"""Questions on default gradients, made from what was measured, so that they are never stale."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from math import isfinite, isinf, isnan

from autograd_surprises.atlas.kinds import agree, events, jumps, kind, subgradient
from autograd_surprises.atlas.measuring import Measured
from autograd_surprises.atlas.notes import NOTES
from autograd_surprises.atlas.operations import NUMBERS
from autograd_surprises.atlas.probing import Probe
from autograd_surprises.atlas.record import Atlas
from autograd_surprises.atlas.words import PICKED, text

AT_MOST = 5  # options
DIGITS = 4  # longer numbers are no fun to read
TIE = "torch.maximum(x, one)"


@dataclass(frozen=True)
class Question:
    """One question: an operation, a point, and what was measured there.

    text     the question
    right    the measured gradient, as text
    options  {option: why it is right, or what that number would be}
    """

    call: str
    point: str
    probe: Probe
    halves_ties: bool  # does torch.maximum?

    @property
    def text(self) -> str:
        names = list(dict.fromkeys(re.findall(rf"\b(?:{'|'.join(NUMBERS)})\b", self.call)))
        of = f"`{'` and `'.join(names)}`" if names else ""
        said = f" ({of} {'are tensors' if names[1:] else 'is a tensor'}.)" if names else ""
        return f"What does autograd return for `{self.call}` at x = {self.point}?{said}"

    @property
    def right(self) -> str:
        return text(self.probe.gradient)

    @property
    def options(self) -> dict[str, str]:
        probe, numbers = self.probe, {}
        slopes = [slope for slope in (probe.left, probe.right) if not isnan(slope)]
        mean = [self._mean] if short(self._mean) and isfinite(self._mean) else []
        for number in (probe.gradient, *slopes, *mean, 0.0, 1.0, float("nan"), float("inf")):
            numbers.setdefault(text(number), number)
        chosen = sorted(list(numbers.values())[:AT_MOST], key=lambda n: (isnan(n), n))
        reasons = {text(number): self._why_not(number) for number in chosen}
        return {**reasons, self.right: self._why()}

    @property
    def _mean(self):
        return (self.probe.left + self.probe.right) / 2

    def _why(self):
        probe, value, found = self.probe, text(self.probe.value), kind(self.point, self.probe)
        left, right = text(probe.left), text(probe.right)
        if found == "kink":
            picked = PICKED[subgradient(probe)]
            return f"Two slopes meet, {left} and {right}, and autograd's number is {picked}."
        if found == "jump":
            sides = [agree(probe.gradient, slope) for slope in (probe.left, probe.right)]
            side = "both sides" if all(sides) else "the left" if sides[0] else "the right"
            jump = f"The value jumps from {text(probe.below)} to {text(probe.above)}"
            return f"{jump}, and the gradient is the slope on {side}."
        if found == "infinite" and probe.gradient in (probe.left, probe.right):
            return f"The value is {value}, and beside it the values get steeper without end."
        if found == "not the slope":
            slopes = " and ".join(dict.fromkeys(each for each in (left, right) if each != "nan"))
            note = f": {NOTES[self.call]}" if self.call in NOTES else ""
            return f"Beside the point the slope is {slopes}; autograd has another number{note}."
        return {
            "infinite": f"The value is {value}, and the gradient is infinite.",
            "NaN gradient": f"The value is {value}, but backward computes something that has no "
            "value, such as 0 · inf.",
            "NaN value": "The value is nan, and the gradient is a number all the same.",
        }[found]

    def _why_not(self, number):
        probe, found = self.probe, {"left": self.probe.left, "right": self.probe.right}
        sides = [side for side, slope in found.items() if slope == number]
        if sides:
            return f"That is the slope on {'both sides' if sides[1:] else f'the {sides[0]}'}."
        if self._mean == number:
            tie = ", as `torch.maximum` returns at a tie" if self.halves_ties else ""
            return f"That is the mean of both slopes{tie}."
        if number == -probe.gradient != 0:
            return "The size is right, the sign is not."
        if isnan(number):
            if isnan(probe.value):
                return "The value is nan, but the gradient is not."
            return "nan would mean something like 0 / 0 on the way back."
        if isinf(number):
            if jumps(probe) and isfinite(probe.gradient):
                return "A jump is infinitely steep, but backward does not see it."
            return "inf would mean that the values rise ever more steeply here."
        if number == 0:
            return "0 would mean that nothing passes back here."
        return "1 would hand the upstream gradient on unchanged."


def short(number: float) -> bool:
    """Is it quickly read?

    >>> short(-0.25), short(float("-inf")), short(1e12), short(1 / 3)
    (True, True, False, False)
    """
    return len(text(number).lstrip("-")) <= DIGITS


def questions(numbers: Atlas, count: int, seed: int) -> list[Question]:
    """Choose so many questions, of several kinds, no operation twice; a seed gives the same ones.

    Raises ValueError if the atlas has fewer.

    >>> from autograd_surprises.atlas import atlas
    >>> [question.right for question in questions(atlas("2.15"), 3, seed=1)]
    ['0.5', 'nan', '0']
    """
    choice = random.Random(seed)
    tie = numbers.elementwise[TIE].probes["1"] if TIE in numbers.elementwise else None
    halves_ties = tie is not None and kind("1", tie) == "kink" and subgradient(tie) == "mean"
    chosen, names, of_kind = [], set(), {}
    for measured in choice.sample(list(numbers.elementwise.values()), len(numbers.elementwise)):
        name = measured.call.partition("(")[0].rpartition(".")[2]  # torch.round is special.round
        points = askable(measured)
        if not points or name in names:
            continue
        point = choice.choice(points)
        found = kind(point, measured.probes[point])
        share = 0.4 if found == "kink" else 0.2  # else most would be 1 / x, log(x) or at NaN
        if of_kind.get(found, 0) < share * count:
            names.add(name)
            of_kind[found] = of_kind.get(found, 0) + 1
            chosen.append(Question(measured.call, point, measured.probes[point], halves_ties))
    if not 1 <= count <= len(chosen):
        raise ValueError(f"count={count}: there are 1 to {len(chosen)} questions")
    return chosen[:count]


def askable(measured: Measured) -> list[str]:
    """The points with an event, where all numbers are short and any tensor gives the same.

    >>> from autograd_surprises.atlas import atlas
    >>> askable(atlas("2.15").elementwise["torch.hardshrink(x)"])
    ['-0.5', '0.5']
    """
    return [
        point
        for point in events(measured.probes)
        if point[0] not in "<>" and point not in ("-0", "-inf") and len(point) <= DIGITS + 1
        if all(map(short, vars(measured.probes[point]).values()))
        if not any(point in pairs for pairs in measured.elsewhere.values())
        if not jumps(measured.probes[point]) or _is_clear_jump(point, measured.probes[point])
    ]


def _is_clear_jump(point, probe):
    return kind(point, probe) == "jump" and not isnan(probe.below + probe.above)
