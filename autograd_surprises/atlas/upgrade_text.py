"""The report of what another torch version changes in a training step."""

from collections.abc import Mapping
from dataclasses import dataclass

from autograd_surprises.numerics import few_digits
from autograd_surprises.recording.places import Where
from autograd_surprises.show.findings import findings_text, grouped, listed


@dataclass(frozen=True)
class ChangedLine:
    """A line whose operation has another gradient at some points.

    input, places  those points, as the operation calls its arguments: "self", ("min", "max")
    before, after  the gradient there, for an upstream gradient of 1
    elements       of the input of this step that are exactly there, of so many in `total`

    >>> print(ChangedLine(None, "clamp", "self", ("min", "max"), 1.0, 0.0, 34, 1000))
    clamp where its input equals min or max: gradient 1 becomes 0, at 34 of 1,000 elements (3.4 %)
    """

    where: Where | None
    operation: str
    input: str
    places: tuple[str, ...]
    before: float
    after: float
    elements: int
    total: int

    def __str__(self):
        name = "its input" if self.input == "self" else self.input
        before, after = few_digits(self.before), few_digits(self.after)
        share = _percent(self.elements / self.total)
        return (
            f"{self.operation} where {name} equals {' or '.join(self.places)}: gradient {before} "
            f"becomes {after}, at {self.elements:,} of {self.total:,} elements ({share})"
        )


@dataclass(frozen=True)
class UpgradeReport:
    """What changes in one training step between two torch versions.

    lines        where gradients change, also if no element of this step is there
    derivatives  (line, what has a derivative in one version alone)
    leaves       {name: |new gradient - old gradient| / |old gradient|} of the parameters and other
                 leaves whose gradient changes; None if that cannot be said
    doubts       what is not known
    measured, unknown  operations of this step whose gradient was, or was not, measured with both
                       versions; those that only arrange elements are left out
    """

    old: str
    new: str
    lines: tuple[ChangedLine, ...]
    derivatives: tuple[tuple[Where | None, str], ...]
    leaves: Mapping[str, float] | None
    doubts: tuple[str, ...]
    measured: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Does a number of this step change, as far as is known?"""
        there = any(line.elements for line in self.lines) and self.leaves is None
        return bool(self.derivatives or self.leaves or there)

    def __str__(self):
        rows = [f"torch {self.old} to {self.new}: {self._headline}"]
        there = [line for line in self.lines if line.elements]
        for group in grouped(there, lambda line: line.where):
            rows.append(findings_text(f"  {_named(group[0].where)}", [("", str(g)) for g in group]))
        rows += [
            findings_text(f"  {_named(where)}", [("", text)]) for where, text in self.derivatives
        ]
        met = {(line.where, line.operation) for line in there}
        idle = dict.fromkeys((line.where, line.operation) for line in self.lines)
        idle = [f"{name} ({_short(where)})" for where, name in idle if (where, name) not in met]
        largest = sorted((self.leaves or {}).items(), key=lambda pair: -pair[1])
        sizes = [f"{name} {_percent(share)}" for name, share in largest]
        below = (
            [f"length of the change, beside that of the gradient: {listed(sizes, most=4)}"]
            if sizes
            else []
        )
        below += [f"not one element where it changes: {listed(idle, most=4)}"] if idle else []
        below += [f"not known: {doubt}" for doubt in self.doubts]
        return "\n".join([*rows, *(findings_text("  " + text) for text in [*below, self._width])])

    @property
    def _headline(self):
        if self.leaves or self.derivatives:
            return "gradients change in this step"
        if self.doubts:
            may = "gradients may change in this step"
            return may if self.changes else "whether gradients change in this step is not known"
        if any(line.elements for line in self.lines):
            return "no leaf gets another gradient in this step: what changes reaches none of them"
        return "no gradient changes in this step, as far as the atlas knows"

    @property
    def _width(self):
        parts = [
            f"{len(names)} {words}" + f" ({listed(names, most=6)})" * bool(names)
            for names, words in (
                (self.measured, "were measured with both versions"),
                (self.unknown, "were not"),
            )
        ]
        return f"of the operations in this step, {', '.join(parts)}"


def _percent(share):
    number = 100 * share
    return f"{number:.2g} %" if number < 10 else f"{number:,.0f} %"


def _named(where):
    return "a line that was not recorded" if where is None else str(where)


def _short(where):
    return "not recorded" if where is None else where.short
