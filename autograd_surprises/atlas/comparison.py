"""What differs between two torch versions, in words and numbers."""

from dataclasses import dataclass

from autograd_surprises.atlas.classes import Measured
from autograd_surprises.atlas.record import Atlas, stored
from autograd_surprises.numerics import few_digits

NUMBER_NAMES = (
    "value",
    "gradient",
    "left slope",
    "right slope",
    "limit from below",
    "limit from above",
)


@dataclass(frozen=True)
class Change:
    """One difference between two versions.

    expression     the line of code
    points         where, and after a comma where else; "" for the operation as a whole
    what           "gradient", "value", "left slope", "derivative", "operation", ...
    before, after  a number, or words
    """

    expression: str
    points: str
    what: str
    before: str
    after: str

    def __str__(self):
        where = f" at {self.points}" if self.points else ""
        return f"{self.expression}{where}: {self.what} {self.before}, then {self.after}"


def changes(earlier: str | Atlas, later: str | Atlas) -> list[Change]:
    """What changed from one measured torch version to another.

    >>> for change in changes("2.13", "2.14"):
    ...     if change.expression == "torch.clamp(x, -1, 1)":
    ...         print(change)
    torch.clamp(x, -1, 1) at -1, 1: gradient 1, then 0
    """
    old, new = (stored(each) if isinstance(each, str) else each for each in (earlier, later))
    return _of_all(old.operations, new.operations) + _of_all(old.ties, new.ties)


def _of_all(old, new):
    found = []
    for name in sorted(old.keys() | new.keys()):
        if name in old and name in new:
            found += _of_one(old[name], new[name])
        else:
            before, after = ("there" if name in part else "not there" for part in (old, new))
            found.append(Change(name, "", "operation", before, after))
    return found


def _of_one(old: Measured, new: Measured):
    name = old.expression
    if bool(old.error) != bool(new.error):
        words = (f"none ({each.error})" if each.error else "there" for each in (old, new))
        return [Change(name, "", "derivative", *words)]
    found = []
    if old.backward != new.backward:
        found.append(Change(name, "", "node in the graph", old.backward, new.backward))
    where = {}  # {(what, before, after): points}
    for point in [*old.probes, *(point for point in new.probes if point not in old.probes)]:
        for difference in _at_point(_numbers_at(old, point), _numbers_at(new, point)):
            where.setdefault(difference, []).append(point)
    return found + [Change(name, ", ".join(points), *key) for key, points in where.items()]


def _at_point(old, new):
    """(what, before, after) of each number that differs."""
    if not (old and new):
        words = (f"{'unlike' if each else 'like'} its neighbours" for each in (old, new))
        return [("point", *words)]
    differences = []
    for what in old | new:
        double = what.partition(" (")[0]  # float32 falls back to the float64 entry
        before, after = (each.get(what, each[double]) for each in (old, new))
        if before != after:
            differences.append((what, before, after))
    return differences


def _numbers_at(measured, point):
    """{what: number as text} of all that was measured at a point."""
    if point == "-0" and point not in measured.probes:  # stored only where it differs from 0
        point = "0"
    if point not in measured.probes:
        return {}
    numbers = dict(zip(NUMBER_NAMES, measured.probes[point].numbers, strict=True))
    for name, pairs in measured.elsewhere.items():
        if point in pairs:
            numbers |= {f"value ({name})": pairs[point][0], f"gradient ({name})": pairs[point][1]}
    return {what: few_digits(number) for what, number in numbers.items()}
