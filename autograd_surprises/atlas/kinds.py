"""What a measurement says: is the gradient the slope, and if not, what is it?"""

from __future__ import annotations

from math import isinf, isnan

from autograd_surprises.atlas.points import FAR, PLAIN
from autograd_surprises.atlas.probing import Probe, close

# What a class says: two of a whole operation, the others of a point.
CLASSES = {
    "zero everywhere": "the gradient is 0 wherever it was measured",
    "no derivative": "torch has none; the table has its words",
    "plain": "the gradient is the slope, everywhere",
    "kink": "two slopes meet, and autograd picks one number",
    "jump": "the value jumps, and the gradient is the slope beside the jump",
    "infinite": "the gradient is infinite",
    "NaN gradient": "the gradient is NaN, although the value is not",
    "NaN value": "the gradient is finite, although the value is NaN",
    "not the slope": "the gradient is another number than the slope",
}


def kind(point: str, probe: Probe) -> str:
    """What happens at a point: a key of CLASSES.

    >>> kind("0", Probe(value=0, gradient=0.5, left=0, right=1, below=0, above=0))
    'kink'
    """
    value, gradient = probe.value, probe.gradient
    if isnan(gradient):
        return "plain" if isnan(value) else "NaN gradient"
    if isnan(value):
        return "infinite" if isinf(gradient) else "NaN value"
    neighbour, slopes = point[0] in "<>", slopes_at(point, probe)
    steep = neighbour or abs(value) > 1e10  # beside a pole
    if isinf(gradient):
        return "not the slope" if slopes and not any(map(isinf, slopes)) else "infinite"
    if not neighbour and jumps(probe):
        sides = ((probe.left, probe.below), (probe.right, probe.above))
        on_it = [slope for slope, limit in sides if close(limit, value)]
        right = any(agree(gradient, slope) for slope in on_it or slopes)
        return "jump" if right else "not the slope"
    if all(agree(gradient, slope, steep) for slope in slopes):
        return "plain"
    a_kink = len(slopes) == 2 and not any(map(isinf, slopes)) and not close(*slopes)
    return "kink" if a_kink and not neighbour else "not the slope"


def jumps(probe: Probe) -> bool:
    """Is a limit of the value another one than that of the other side, or than the value?

    >>> jumps(Probe(value=0, gradient=0, left=0, right=0, below=-1, above=1))
    True
    """
    limits = [limit for limit in (probe.below, probe.above) if not isnan(limit)]
    if len(limits) == 1 and not isinf(probe.value):
        limits.append(probe.value)
    return len(limits) == 2 and not close(*limits)


def slopes_at(point: str, probe: Probe) -> list[float]:
    """The slopes that are there: of a neighbour, only the one that does not cross over.

    >>> slopes_at("<0", Probe(0, 0, left=-1, right=1, below=0, above=0))
    [-1]
    """
    sides = {"<": (probe.left,), ">": (probe.right,)}.get(point[0], (probe.left, probe.right))
    return [slope for slope in sides if not isnan(slope)]


def agree(gradient: float, slope: float, steep: bool = False) -> bool:
    """Are they the same? Right beside a pole or a vertical tangent, every `steep` one is right.

    >>> agree(1e8, float("inf")), agree(1e8, float("inf"), steep=True)
    (False, True)
    """
    if isinf(slope):
        return steep and abs(gradient) > 100 and (gradient > 0) == (slope > 0)
    return close(gradient, slope)


def subgradient(probe: Probe) -> str:
    """Which number autograd picks at a kink.

    >>> subgradient(Probe(value=0, gradient=0, left=-1, right=1, below=0, above=0))
    'mean'
    """
    left, right, gradient = probe.left, probe.right, probe.gradient
    names = {"left": left, "right": right, "mean": (left + right) / 2, "0": 0.0}
    named = [name for name, slope in names.items() if close(slope, gradient)]
    if named:
        return named[0]
    return "between" if min(left, right) < gradient < max(left, right) else "outside"


def events(probes: dict[str, Probe]) -> dict[str, str]:
    """{point: kind} of the points where something happens.

    >>> events({"0": Probe(0, 1, 1, 1, 0, 0), "1": Probe(1, 1, 1, 0, 1, 1)})
    {'1': 'kink'}
    """
    found = {point: kind(point, probe) for point, probe in probes.items()}
    if len({probe.gradient for probe in probes.values()}) == 1:
        found.pop("nan", None)  # a straight line has its slope there, too
    for point in ("-inf", "inf", *FAR):
        if found.get(point) == "infinite" and isinf(probes[point].value):
            del found[point]  # as steep as the value is high
    return {point: name for point, name in found.items() if name != "plain"}


def classes(backward: str, probes: dict[str, Probe]) -> dict[str, list[str]]:
    """{class: points} of an operation: the kinds that it has, and what holds for all of it.

    >>> flat = Probe(2.0, 0.0, 0.0, 0.0, 2.0, 2.0)
    >>> classes("RoundBackward0", dict.fromkeys(PLAIN, flat))
    {'zero everywhere': []}
    """
    if not backward:
        return {"no derivative": []}
    found = {}
    if PLAIN[0] in probes and all(probe.gradient == 0 for probe in probes.values()):
        found["zero everywhere"] = []
    for point, name in events(probes).items():
        found.setdefault(name, []).append(point)
    return found or {"plain": []}
