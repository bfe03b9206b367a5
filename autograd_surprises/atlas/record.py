"""The atlas of one torch version as data, stored in the folder measured.

A file has a line for each operation. Its points are [value, gradient, left slope, right slope,
limit from below, limit from above]; the limits are left out where they are the value, and the
slopes where there are none.
"""

import functools
import json
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path

from autograd_surprises.atlas.classes import Measured
from autograd_surprises.atlas.measuring import ELSEWHERE
from autograd_surprises.atlas.point import Point
from autograd_surprises.atlas.probe import Probe
from autograd_surprises.atlas.rows import NOTES

FOLDER = Path(__file__).with_name("measured")


@dataclass(frozen=True)
class Atlas:
    """All that was measured with one torch, by line of code.

    version     of torch, such as "2.13"
    processor   on which it was measured
    operations  operations of x
    ties        several inputs at once
    aliases     {line of code: other lines that do the same}

    >>> stored("2.13").operations["torch.abs(x)"].probes["0"].left
    -1.0
    """

    version: str
    processor: str
    operations: dict[str, Measured]
    ties: dict[str, Measured]
    aliases: dict[str, list[str]]

    def look_up(self, expression: str) -> Measured:
        """An operation of x, by its line of code or that of an alias.

        Raises ValueError for one that the atlas does not have.

        >>> stored("2.13").look_up("torch.clip(x, -1, 1)").expression
        'torch.clamp(x, -1, 1)'
        """
        for name, measured in self.operations.items():
            if expression == name or expression in self.aliases.get(name, []):
                return measured
        raise ValueError(
            f"the atlas of torch {self.version} has no {expression!r}: "
            "atlas_table(search=...) shows what it has"
        )


def versions() -> list[str]:
    """The torch versions that were measured, oldest first.

    >>> versions()[0]
    '2.6'
    """
    names = [file.stem.removeprefix("torch-") for file in FOLDER.glob("torch-*.json")]
    return sorted(names, key=lambda version: [int(part) for part in version.split(".")])


@functools.cache
def stored(version: str) -> Atlas:
    """Read the file of a torch version. Raises ValueError for one that was not measured.

    >>> stored("2.13").processor
    'x86_64 AVX2'
    """
    if version not in versions():
        raise ValueError(f"torch {version!r} was not measured; these were: {', '.join(versions())}")
    return from_text((FOLDER / f"torch-{version}.json").read_text(encoding="utf-8"))


def from_text(text: str) -> Atlas:
    """Read what as_text wrote.

    >>> from_text(as_text(stored("2.13"))).version
    '2.13'
    """
    data = json.loads(text)
    operations = {name: _operation(name, e) for name, e in data["elementwise"].items()}
    ties = {name: _tie(name, e) for name, e in data["ties"].items()}
    aliases = {name: e["also"] for name, e in data["elementwise"].items() if "also" in e}
    return Atlas(data["torch"], data["processor"], operations, ties, aliases)


def as_text(atlas: Atlas) -> str:
    """The file's text, a line for each operation."""
    lines = [f'{{"torch": "{atlas.version}", "processor": "{atlas.processor}",']
    for part, measured in (("elementwise", atlas.operations), ("ties", atlas.ties)):
        entries = [
            f"{json.dumps(name)}: {json.dumps(_entry(each, atlas))}"
            for name, each in measured.items()
        ]
        lines.append(f'"{part}": {{\n' + ",\n".join(entries) + "\n}" + "," * (part != "ties"))
    return "\n".join(lines) + "}\n"


def _entry(measured, atlas):
    entry = {
        "also": atlas.aliases.get(measured.expression),
        "backward": measured.backward,
        "error": measured.error,
        "note": NOTES.get(measured.expression),
        "points": {point: _numbers(probe) for point, probe in measured.probes.items()},
    }
    for name, pairs in measured.elsewhere.items():
        entry[name] = {point: list(map(_to_json, pair)) for point, pair in pairs.items()}
    return {key: value for key, value in entry.items() if value}


def _operation(name, entry):
    points = {Point(text): numbers for text, numbers in entry.get("points", {}).items()}
    probes = {point: _probe(numbers, point.side) for point, numbers in points.items()}
    elsewhere = {
        key: {Point(text): tuple(map(float, pair)) for text, pair in entry[key].items()}
        for key in ELSEWHERE
        if key in entry
    }
    return Measured(name, entry.get("backward", ""), entry.get("error", ""), probes, elsewhere)


def _tie(name, entry):
    probes = {label: _probe(numbers) for label, numbers in entry["points"].items()}
    return Measured(name, entry.get("backward", ""), entry.get("error", ""), probes, {})


def _numbers(probe):
    numbers = list(map(_to_json, probe.numbers))
    if numbers[4:] == list(map(_to_json, _usual_limits(probe.value, probe.left, probe.right))):
        del numbers[4:]
        if numbers[2:] == ["nan", "nan"]:
            del numbers[2:]
    return numbers


def _probe(numbers, side=""):
    value, gradient, *rest = map(float, numbers)
    left, right, *limits = rest or (nan, nan)
    return Probe(value, gradient, left, right, *(limits or _usual_limits(value, left, right)), side)


def _usual_limits(value, left, right):
    """Both are the value, where both slopes are finite; there are none, where neither is."""
    return [value if isfinite(left) and isfinite(right) else nan] * 2


def _to_json(number):
    """JSON has no NaN and no infinity: there they are text."""
    if not isfinite(number):
        return str(number)
    return int(number) if number == int(number) and abs(number) < 1e15 else number
