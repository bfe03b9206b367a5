"""At which elements the gradient of a node of the graph differs between two torch versions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

import torch

from autograd_surprises.atlas.elementwise_operations import evaluate
from autograd_surprises.atlas.lines_in_both import LineInBoth, lines_in_both
from autograd_surprises.atlas.measuring import ELSEWHERE
from autograd_surprises.atlas.point import Point
from autograd_surprises.atlas.record import Atlas
from autograd_surprises.numerics import few_digits

PROBES = (0.3, 0.4), (0.7, 0.6)  # for two inputs; no line has these numbers as a constant


@dataclass(frozen=True)
class ChangedPoint:
    """Where the gradient of one input of a kind of node differs.

    input    its number among the inputs of the node
    name     what the node calls it: "self"
    point    the number that it is there
    equals   the argument that this number stands for: "min"; "" if the number itself is meant
    others   {tensor that is another argument: the number that it is there, "" for any but NaN}
    numbers  {"" or a key of ELSEWHERE: (gradient before, gradient after)}
    """

    input: int
    name: str
    point: Point
    equals: str
    others: Mapping[str, Point]
    numbers: Mapping[str, tuple[float, float]]

    @property
    def place(self) -> str:
        """The argument or the number that it is there, in words."""
        return self.equals or self.point.in_words

    def gradients(self, x: torch.Tensor) -> tuple[float, float] | None:
        """The gradient before and after, in a tensor of this size and dtype; None if it stays."""
        parts = ["64 numbers"] * (x.numel() >= 64) + ["float32"] * (x.dtype == torch.float32)
        return self.numbers.get(", ".join(parts))

    def elements(self, saved: Mapping[str, object]) -> torch.Tensor | None:
        """Which elements of what a node saved are there; None if it has no such argument.

        >>> at_min = ChangedPoint(0, "self", Point("-1"), "min", {}, {})
        >>> at_min.elements({"self": torch.tensor([0.0, -2.0]), "min": -2})
        tensor([False,  True])
        """
        x = saved[self.name]
        if not self.equals:
            found = _is(x, self.point)
        elif saved[self.equals] is None:
            return None
        else:
            found = x == saved[self.equals]
        for name, point in self.others.items():
            found = found & (_is(saved[name], point) if point else ~saved[name].isnan())
        return found


def _is(x, point):
    if point == "nan":
        return x.isnan()
    found = x == point.tensor(x.dtype).to(x.device)
    return found & x.signbit() if point == "-0" else found


def changed_points(old: Atlas, new: Atlas) -> dict[str, list[ChangedPoint]]:
    """{name of a node: where its gradient differs}. Larger operations differ by their nodes.

    >>> from autograd_surprises.atlas.record import stored
    >>> points = changed_points(stored("2.13"), stored("2.15"))["ClampBackward1"]
    >>> sorted(point.equals for point in points)
    ['max', 'min']
    """
    found: dict[str, dict[tuple, ChangedPoint]] = {}
    for line in lines_in_both(old, new):
        for name, numbers, at in _differences(line):
            made = _point(line, name, numbers, at)
            if made is not None:
                node, point = made
                key = point.input, point.equals or point.point
                found.setdefault(node, {}).setdefault(key, point)
    return {node: [*points.values()] for node, points in found.items()}


def _differences(line: LineInBoth) -> Iterator[tuple[str, dict, dict[str, Point]]]:
    """(an input, its gradients that differ, where all inputs are) for each point of a line."""
    for place in dict.fromkeys([*line.before.probes, *line.after.probes]):
        if isinstance(place, Point):
            name, at = "x", {"x": place}
        elif place in line.inputs:
            name, at = place, {k: Point(f"{number:g}") for k, number in line.inputs.items()}
        else:  # an element of a vector, or all together
            continue
        pairs = {
            key: tuple(_gradient(each, place, key) for each in (line.before, line.after))
            for key in ("", *ELSEWHERE)
        }
        numbers = {key: pair for key, pair in pairs.items() if len({*map(few_digits, pair)}) > 1}
        if numbers:
            yield name, numbers, at


def _gradient(measured, place, key):
    if place == "-0" and place not in measured.probes:  # stored only where it differs from 0
        place = Point("0")
    pair = measured.elsewhere.get(key, {}).get(place)
    return pair[1] if pair else measured.probes[place].gradient


def _point(line, name, numbers, at):
    """(name of the node, the ChangedPoint), if the gradient of that input leaves the last node."""
    made = [
        line.node(**{k: (n,) if k == "x" else n for k, n in zip(at, some, strict=False)})
        for some in PROBES
    ]
    if None in made or name not in made[0][1]:
        return None
    (step, positions), (second, _) = made
    saved = [{k: _number(value) for k, value in each.saved.items()} for each in (step, second)]
    called = {  # what the node calls each input
        k: next((s for s in saved[0] if (saved[0][s], saved[1][s]) == pair), "")
        for k, pair in zip(at, zip(*PROBES, strict=True), strict=False)
    }
    constants = {s: Point(f"{n:g}") for s, n in saved[0].items() if n == saved[1][s]}
    arguments = constants | {s: at[k] for k, s in called.items() if s and k != name}
    equals = next((s for s, there in arguments.items() if _stands_for(at[name], there)), "")
    others = {
        s: Point("") if _is_usual(there) else there
        for s, there in arguments.items()
        if isinstance(step.saved[s], torch.Tensor) and s != equals
    }
    point = ChangedPoint(positions[name], called[name], at[name], equals, others, numbers)
    return step.name, point


def _number(value):
    """A number that a node saved, or NaN: which is equal to none."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 and value.is_floating_point() else float("nan")
    return float(value) if isinstance(value, (int, float)) else float("nan")


def _is_usual(point):
    return isfinite(point.number) and point.number != 0


def _stands_for(point, argument):
    """Lines have 1 and -1 for any number, but 0, infinity and NaN for themselves."""
    return not point.side and _is_usual(point) and point.number == argument.number


def measured_nodes(old: Atlas, new: Atlas) -> set[str]:
    """The names of the nodes whose own gradient was measured with both versions.

    >>> from autograd_surprises.atlas.record import stored
    >>> "ReluBackward0" in measured_nodes(stored("2.13"), stored("2.15"))
    True
    """
    made = (line.node() for line in lines_in_both(old, new))
    return {each[0].name for each in made if each is not None and each[1]}


def changed_derivatives(old: Atlas, new: Atlas) -> dict[str, tuple[str, str]]:
    """{name of a call of torch: why it has no derivative, before and after; "" if it has one}.

    >>> from autograd_surprises.atlas.record import stored
    >>> changed_derivatives(stored("2.13"), stored("2.15"))["special_bessel_j0"]
    ('no error, but the result has no grad_fn', '')
    """
    pairs = [
        (before, after[name])
        for before_all, after in ((old.operations, new.operations), (old.ties, new.ties))
        for name, before in before_all.items()
        if name in after
    ]
    return {
        evaluate(before.expression.partition("(")[0]).__name__: (before.error, after.error)
        for before, after in pairs
        if bool(before.error) != bool(after.error)
    }
