"""The atlas of one torch version as data: measured here, or read from the folder measured.

A file has a line for each operation. Its points are [value, gradient, left slope, right slope,
limit from below, limit from above]; the limits are left out where they are the value, and the
slopes where there are none.
"""

from __future__ import annotations

import functools
import json
import platform
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan
from pathlib import Path

import torch

from autograd_surprises.atlas.measuring import ELSEWHERE, Measured, measure, measure_tie
from autograd_surprises.atlas.notes import NOTES
from autograd_surprises.atlas.operations import operations, quiet
from autograd_surprises.atlas.probing import Probe
from autograd_surprises.atlas.ties import ties
from autograd_surprises.numerics import one_thread

FOLDER = Path(__file__).with_name("measured")


@dataclass(frozen=True)
class Atlas:
    """All operations of one torch: {line of code: what was measured}.

    version      of torch, such as "2.13"
    processor    on which it was measured
    elementwise  operations of x
    ties         several inputs at once
    also         {line of code: other names that do the same}
    """

    version: str
    processor: str
    elementwise: dict[str, Measured]
    ties: dict[str, Measured]
    also: dict[str, list[str]]


def atlas(version: str | None = None) -> Atlas:
    """The numbers of a measured torch version; by default of the installed one.

    An installed torch that nobody measured yet is measured, which takes some ten seconds.

    >>> atlas("2.14").elementwise["torch.clamp_min(x, -1)"].probes["-1"].gradient
    0.0
    """
    if version is None and here() not in versions():
        return measured_here()
    return load(".".join(version.split(".")[:2]) if version else here())


def measured_here() -> Atlas:
    """Measure the torch that is installed."""
    with one_thread(), quiet():
        elementwise = [measure(operation) for operation in operations()]
        tied = [measure_tie(tie) for tie in ties()]
    elementwise, also = without_aliases(elementwise)
    return Atlas(
        here(),
        processor(),
        {each.call: each for each in sorted(elementwise, key=lambda each: each.call)},
        {each.call: each for each in tied},
        also,
    )


def here() -> str:
    """The installed torch, as the files name it: 2.13."""
    return ".".join(torch.__version__.split(".")[:2])


def processor() -> str:
    """This one, as far as it matters: vector instructions are code of their own in torch."""
    capability = torch.backends.cpu.get_cpu_capability().replace("AVX512", "AVX2")  # the same
    return f"{platform.machine()} {capability}"


def without_aliases(measured: list[Measured]) -> tuple[list[Measured], dict[str, list[str]]]:
    """Keep one of those with the same node, the same arguments and the same numbers."""
    groups = {}
    for each in measured:
        # NaN is not NaN, but "nan" is "nan"; of two without a derivative nothing is known
        key = each.call if each.error else repr(replace(each, call=each.call.partition("(")[2]))
        groups.setdefault(key, []).append(each)
    best = [sorted(group, key=_familiar) for group in groups.values()]
    also = {first.call: sorted(each.call for each in rest) for first, *rest in best if rest}
    return [group[0] for group in best], also


def _familiar(measured):
    """torch before F before special, then the name that the graph's node has, then the shortest."""
    space, _, name = measured.call.partition("(")[0].partition(".")
    node = measured.backward.lower().startswith(name.replace("_", "") + "backward")
    return ["torch", "F", "special"].index(space), not node, len(name), name


@functools.cache
def load(version: str) -> Atlas:
    """Read what was measured with a torch version.

    >>> load("2.13").elementwise["torch.abs(x)"].probes["0"].left
    -1.0
    """
    file = FOLDER / f"torch-{version}.json"
    if not file.exists():
        raise ValueError(f"torch {version!r} was not measured; these were: {', '.join(versions())}")
    return from_text(file.read_text(encoding="utf-8"))


def from_text(text: str) -> Atlas:
    """Read what as_text wrote.

    >>> from_text(as_text(load("2.13"))).version
    '2.13'
    """
    data = json.loads(text)
    parts = [
        {call: _measured(call, entry) for call, entry in data[part].items()}
        for part in ("elementwise", "ties")
    ]
    also = {call: e["also"] for call, e in data["elementwise"].items() if "also" in e}
    return Atlas(data["torch"], data["processor"], *parts, also)


def versions() -> list[str]:
    """The torch versions that were measured, oldest first.

    >>> versions()[0]
    '2.6'
    """
    found = [file.stem.removeprefix("torch-") for file in FOLDER.glob("torch-*.json")]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def as_text(atlas: Atlas, notes: bool = True) -> str:
    """The file's text, a line for each operation; or without the notes, which nobody measured."""
    lines = [f'{{"torch": "{atlas.version}", "processor": "{atlas.processor}",']
    for part in ("elementwise", "ties"):
        measured = getattr(atlas, part)
        entries = [
            f"{json.dumps(call)}: {_line(each, atlas, notes)}" for call, each in measured.items()
        ]
        lines.append(f'"{part}": {{\n' + ",\n".join(entries) + "\n}" + "," * (part != "ties"))
    return "\n".join(lines) + "}\n"


def _line(measured, atlas, notes):
    entry = {"also": atlas.also.get(measured.call, [])}
    entry |= {"backward": measured.backward, "error": measured.error}
    entry["note"] = notes and NOTES.get(measured.call)
    entry["points"] = {point: _numbers(each) for point, each in measured.probes.items()}
    for name, pairs in measured.elsewhere.items():
        entry[name] = {point: list(map(_number, pair)) for point, pair in pairs.items()}
    return json.dumps({key: value for key, value in entry.items() if value})


def _numbers(probe):
    numbers = [probe.value, probe.gradient, probe.left, probe.right, probe.below, probe.above]
    if numbers[4:] == _limits(*numbers[:4]) or isnan(probe.below) and isnan(probe.above):
        del numbers[4:]
        if isnan(probe.left) and isnan(probe.right):
            del numbers[2:]
    return list(map(_number, numbers))


def _number(number):
    """JSON has no NaN and no infinity: there they are text."""
    if not isfinite(number):
        return str(number)
    return int(number) if number == int(number) and abs(number) < 1e15 else number


def _measured(call, entry):
    probes = {point: _probe(numbers) for point, numbers in entry.get("points", {}).items()}
    elsewhere = {
        name: {point: tuple(map(float, pair)) for point, pair in pairs.items()}
        for name, pairs in entry.items()
        if name in ELSEWHERE
    }
    return Measured(call, entry.get("backward", ""), entry.get("error", ""), probes, elsewhere)


def _probe(numbers):
    value, gradient, *rest = map(float, numbers)
    left, right = rest[:2] or (nan, nan)
    return Probe(value, gradient, left, right, *(rest[2:] or _limits(value, gradient, left, right)))


def _limits(value, gradient, left, right):
    """Both are the value, where a slope was measured."""
    return [value if isfinite(slope) else nan for slope in (left, right)]
