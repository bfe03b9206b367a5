"""What was measured of an operation, in a line of text."""

from collections.abc import Iterable
from math import isnan

from autograd_surprises.atlas.classes import Measured
from autograd_surprises.atlas.measuring import ELSEWHERE
from autograd_surprises.atlas.point import Point
from autograd_surprises.atlas.probe import Probe, close
from autograd_surprises.atlas.rows import NOTES
from autograd_surprises.numerics import few_digits
from autograd_surprises.show.findings import grouped, listed

TOO_LARGE = 1e6  # for float32 to have the same digits


def describe(measured: Measured) -> str:
    """Where the gradient is not a finite slope, and what it is there.

    >>> from autograd_surprises.atlas.record import stored
    >>> describe(stored("2.13").operations["torch.relu(x)"])
    'at 0: 0, slopes 0 and 1, the left one; at nan: 1, value nan'
    """
    if measured.error:
        return measured.error
    classes = measured.classes
    if classes.pop("zero everywhere", None) is None:
        lines = _at_points(measured, classes)
    else:
        lines = ["0 everywhere"] + [f"{name} at {_few(points)}" for name, points in classes.items()]
    lines += _elsewhere(measured)
    return "; ".join(lines + _note(measured)) or "the slope, everywhere"


def describe_tie(measured: Measured) -> str:
    """The gradient of each input, and what is behind it.

    >>> from autograd_surprises.atlas.record import stored
    >>> describe_tie(stored("2.13").ties["torch.amax(x, 0) at x = (1, 1)"])
    'x[0], x[1]: 0.5, slopes 0 and 1, their mean; together: 1'
    """
    if measured.error:
        return measured.error
    texts = {
        name: _describe_probe(probe) or few_digits(probe.gradient)
        for name, probe in measured.probes.items()
    }
    lines = [f"{', '.join(names)}: {texts[names[0]]}" for names in grouped(texts, texts.get)]
    return "; ".join(lines + _note(measured))


def _describe_probe(probe):
    """What happens at one point, in a few words; "" where the gradient is the slope."""
    gradient, value = few_digits(probe.gradient), f"value {few_digits(probe.value)}"
    slopes, jump = describe_slopes(probe), " to ".join(map(few_digits, probe.ends))
    return {
        "plain": "",
        "kink": f"{gradient}, {slopes}, {probe.subgradient}",
        "jump": f"{gradient}, the value jumps from {jump}",
        "infinite": f"{gradient}, {value}",
        "NaN gradient": f"nan, {value}" + (f", {slopes}" if slopes and "inf" not in slopes else ""),
        "NaN value": f"{gradient}, value nan",
        "not the slope": f"{gradient}, {slopes}",
    }[probe.kind]


def describe_slopes(probe: Probe) -> str:
    """The slopes of a probe in words; "" if it has none.

    >>> describe_slopes(Probe(value=0, gradient=0, left=-1, right=1, below=0, above=0))
    'slopes -1 and 1'
    """
    slopes = list(dict.fromkeys(map(few_digits, probe.slopes)))
    return f"slope{'s' * (len(slopes) > 1)} {' and '.join(slopes)}" if slopes else ""


def _at_points(measured, classes):
    texts = {p: _describe_probe(measured.probes[p]) for points in classes.values() for p in points}
    undefined = classes.get("NaN value", [])
    if len(undefined) > 3:
        texts |= dict.fromkeys(undefined, "a number, value nan")
    return [f"at {_few(points)}: {texts[points[0]]}" for points in grouped(texts, texts.get)]


def _elsewhere(measured):
    """What differs from one float64 number, but for the digits of huge ones."""
    lines, texts = [], set()
    for name, (_, _, where) in ELSEWHERE.items():
        for point, (value, gradient) in measured.elsewhere.get(name, {}).items():
            double = measured.probes[point]
            huge = min(abs(gradient), abs(double.gradient)) > TOO_LARGE
            words = "" if huge or close(gradient, double.gradient) else few_digits(gradient)
            if isnan(value) != isnan(double.value):
                words = f"{few_digits(gradient)}, value {few_digits(value)}"
            if words and (point, words) not in texts:
                texts.add((point, words))
                lines.append(f"{where} at {point.in_words}: {words}")
    return lines


def _note(measured):
    return [NOTES[measured.expression]] if measured.expression in NOTES else []


def _few(points: Iterable[Point]):
    return listed([point.in_words for point in points], most=3)
