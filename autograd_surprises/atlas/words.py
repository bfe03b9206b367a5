"""What was measured, as sentences and as a table."""

from __future__ import annotations

from math import isnan

from autograd_surprises.atlas.kinds import CLASSES, classes, kind, slopes_at, subgradient
from autograd_surprises.atlas.measuring import Measured
from autograd_surprises.atlas.notes import NOTES
from autograd_surprises.atlas.probing import Probe, close
from autograd_surprises.atlas.record import Atlas, atlas
from autograd_surprises.show.table import Table

PICKED = {
    "left": "the left one",
    "right": "the right one",
    "mean": "their mean",
    "0": "neither, but 0",
    "between": "between them",
    "outside": "outside of both",
}

ELSEWHERE_IN_WORDS = {
    "float32": "in float32",
    "64 numbers": "in a tensor of 64",
    "64 numbers, float32": "in a tensor of 64 in float32",
}
HUGE = 1e6


def atlas_table(search: str = "", of_class: str = "", version: str | None = None) -> Table:
    """Operations and what happens to their gradients: those with `search` in a name, of a class.

    `version` is a measured torch version, by default the installed one.

    >>> atlas_table("i0e", version="2.13")
    operation       class  what happens
    special.i0e(x)  kink   at 0: 0, slopes 1 and -1, their mean
    """
    same = [name for name in CLASSES if name.casefold() == of_class.casefold()]
    if of_class and not same:
        raise ValueError(f"{of_class!r} is no class; these are: {', '.join(CLASSES)}")
    rows = {
        each.call: {"class": ", ".join(found), "what happens": describe(each)}
        for each in select(atlas(version), search, *same)
        for found in [classes(each.backward, each.probes)]
    }
    if not rows:
        kind = f" and the class {of_class!r}" if of_class else ""
        raise ValueError(f"no operation has {search!r} in its name{kind}")
    return Table.of(rows, corner="operation")


def select(numbers: Atlas, search: str = "", of_class: str = "") -> list[Measured]:
    """The operations of x with all words of `search` in their names, of a class ("" for any).

    One that is called exactly so comes first.

    >>> [each.call for each in select(atlas("2.13"), "relu")][:2]
    ['torch.relu(x)', 'F.leaky_relu(x)']
    """
    search, found = search.lower(), []
    for each in numbers.elementwise.values():
        names = [name.lower() for name in (each.call, *numbers.also.get(each.call, []))]
        fits = not of_class or of_class in classes(each.backward, each.probes)
        if fits and all(word in " ".join(names) for word in search.split()):
            exact = any(name.partition("(")[0].endswith(f".{search}") for name in names)
            found.append((not exact, each))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def describe(measured: Measured) -> str:
    """One line: where the gradient is something else than a finite slope, and what it is there.

    >>> describe(atlas("2.13").elementwise["torch.relu(x)"])
    'at 0: 0, slopes 0 and 1, the left one; at nan: 1, value nan'
    """
    if measured.error:
        return measured.error
    found = classes(measured.backward, measured.probes)
    lines = _at_points(measured, found)
    if found.pop("zero everywhere", None) is not None:
        lines = ["0 everywhere"] + [f"{name} at {_few(points)}" for name, points in found.items()]
    lines += [
        f"{where} at {place(point)}: {number}" for where, point, number in _elsewhere(measured)
    ]
    if measured.call in NOTES:
        lines.append(NOTES[measured.call])
    return "; ".join(lines) or "the slope, everywhere"


def _at_points(measured, found):
    parts = {}  # {what happens: points}
    for points in found.values():
        for point in points:
            words = at_point(point, measured.probes[point])
            if points == found.get("NaN value") and len(points) > 3:
                words = "a number, value nan"
            parts.setdefault(words, []).append(point)
    return [f"at {_few(points)}: {words}" for words, points in parts.items()]


def _elsewhere(measured):
    """What differs from one float64 number, but for the digits of huge ones."""
    said = set()
    for where, words in ELSEWHERE_IN_WORDS.items():
        for point, (value, gradient) in measured.elsewhere.get(where, {}).items():
            double = measured.probes[point]
            huge = min(abs(gradient), abs(double.gradient)) > HUGE  # or too much for float32
            number = "" if huge or close(gradient, double.gradient) else text(gradient)
            if isnan(value) != isnan(double.value):
                number = f"{text(gradient)}, value {text(value)}"
            if number and (point, number) not in said:
                said.add((point, number))
                yield words, point, number


def describe_tie(measured: Measured) -> str:
    """One line: the gradient of each input, and what is behind it.

    >>> describe_tie(atlas("2.13").ties["torch.amax(x, 0) at x = (1, 1)"])
    'x[0], x[1]: 0.5, slopes 0 and 1, their mean; together: 1'
    """
    if measured.error:
        return measured.error
    parts = {}
    for name, probe in measured.probes.items():
        words = at_point(name, probe) or text(probe.gradient)
        parts.setdefault(words, []).append(name)
    lines = [f"{', '.join(names)}: {words}" for words, names in parts.items()]
    if measured.call in NOTES:
        lines.append(NOTES[measured.call])
    return "; ".join(lines)


def at_point(point: str, probe: Probe) -> str:
    """What happens there, in a few words; "" where the gradient is the slope.

    >>> at_point("0", Probe(value=0, gradient=0, left=-1, right=1, below=0, above=0))
    '0, slopes -1 and 1, their mean'
    """
    name, gradient, value = kind(point, probe), text(probe.gradient), text(probe.value)
    slopes = list(dict.fromkeys(map(text, slopes_at(point, probe))))
    slope = f"slope{'s' * (len(slopes) > 1)} {' and '.join(slopes)}"
    finite = "" if not slopes or "inf" in slope else f", {slope}"
    jump = " to ".join(text(each) for each in _sides(probe))
    return {
        "plain": "",
        "kink": f"{gradient}, {slope}, {PICKED[subgradient(probe)]}",
        "jump": f"{gradient}, the value jumps from {jump}",
        "infinite": f"{gradient}, value {value}",
        "NaN gradient": f"nan, value {value}{finite}",
        "NaN value": f"{gradient}, value nan",
        "not the slope": f"{gradient}, {slope}",
    }[name]


def _sides(probe):
    """The value on the left of a jump and on the right of it."""
    below = probe.value if isnan(probe.below) else probe.below
    return below, probe.value if isnan(probe.above) else probe.above


def text(number: float) -> str:
    """A number of the atlas, as short as it can be.

    >>> text(0.66667), text(1e12), text(-0.0)
    ('0.66667', '1e+12', '0')
    """
    return f"{number + 0.0:.5g}"


def place(point: str) -> str:
    """The name of a point as people say it.

    >>> place("<0"), place("0.5")
    ('a hair below 0', '0.5')
    """
    return {"<": "a hair below ", ">": "a hair above "}.get(point[0], "") + point.lstrip("<>")


def _few(points):
    names = list(map(place, points))
    if len(points) <= 4:
        return ", ".join(names)
    return f"{', '.join(names[:3])} and {len(names) - 3} more"
