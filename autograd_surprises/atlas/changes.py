"""What differs between two torch versions, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_surprises.atlas.measuring import Measured
from autograd_surprises.atlas.record import Atlas, load


@dataclass(frozen=True)
class Change:
    """One thing that is another in the later version.

    call           the line of code
    points         where, and after a comma where else; "" for the operation as a whole
    what           "gradient", "value", "left slope", "derivative", "operation", ...
    before, after  a number, or words
    """

    call: str
    points: str
    what: str
    before: str
    after: str

    def __str__(self):
        where = f" at {self.points}" if self.points else ""
        return f"{self.call}{where}: {self.what} {self.before}, then {self.after}"


def changes(earlier: str | Atlas, later: str | Atlas) -> list[Change]:
    """What changed from one measured torch version to another.

    >>> for change in changes("2.13", "2.14"):
    ...     if change.call == "torch.clamp(x, -1, 1)":
    ...         print(change)
    torch.clamp(x, -1, 1) at -1, 1: gradient 1, then 0
    """
    old, new = (load(each) if isinstance(each, str) else each for each in (earlier, later))
    found = []
    for part in ("elementwise", "ties"):
        before, after = getattr(old, part), getattr(new, part)
        for call in sorted(before.keys() | after.keys()):
            if call in before and call in after:
                found += _of_one(before[call], after[call])
            else:
                words = ("not there", "there")
                found.append(Change(call, "", "operation", *words[:: 1 if call in after else -1]))
    return found


def _of_one(old: Measured, new: Measured):
    call = old.call
    if bool(old.error) != bool(new.error):
        words = (f"none ({each.error})" if each.error else "there" for each in (old, new))
        return [Change(call, "", "derivative", *words)]
    found = []
    if old.backward != new.backward:
        found.append(Change(call, "", "node in the graph", old.backward, new.backward))
    where = {}  # {(what, before, after): points}
    for point in [*old.probes, *(point for point in new.probes if point not in old.probes)]:
        numbers, others = _numbers(old, point), _numbers(new, point)
        if not (numbers and others):
            words = [each and "of interest" or "like those beside it" for each in (numbers, others)]
            where.setdefault(("point", *words), []).append(point)
            continue
        for what in numbers | others:
            plain = what.partition(" (")[0]  # what float32 does not have for itself, it shares
            before = numbers.get(what, numbers[plain])
            after = others.get(what, others[plain])
            if before != after:
                where.setdefault((what, before, after), []).append(point)
    found += [Change(call, ", ".join(points), *key) for key, points in where.items()]
    return found


def _numbers(measured, point):
    """{what: number as text} of all that was measured at a point."""
    probe = measured.probes.get(point) or measured.probes.get(point.replace("-0", "0"))
    if probe is None:
        return {}
    numbers = {
        "value": probe.value,
        "gradient": probe.gradient,
        "left slope": probe.left,
        "right slope": probe.right,
        "limit from below": probe.below,
        "limit from above": probe.above,
    }
    for name, pairs in measured.elsewhere.items():
        if point in pairs:
            numbers |= {f"value ({name})": pairs[point][0], f"gradient ({name})": pairs[point][1]}
    return {what: f"{number:.5g}" for what, number in numbers.items()}
