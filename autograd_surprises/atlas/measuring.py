"""Measure one operation: at which points, and what is found there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import torch

from autograd_surprises.atlas.calls import KINKS
from autograd_surprises.atlas.kinds import jumps, kind
from autograd_surprises.atlas.operations import Operation
from autograd_surprises.atlas.points import ALWAYS, GRID, PLAIN, number, points
from autograd_surprises.atlas.probing import Probe, close, probe, rounded
from autograd_surprises.atlas.ties import Tie

# Where else an operation is called: the same number in float32, and 64 of them in one tensor, which
# go through the processor's vector instructions, a piece of code of its own.
ELSEWHERE = {
    "float32": (torch.float32, 1),
    "64 numbers": (torch.float64, 64),
    "64 numbers, float32": (torch.float32, 64),
}


@dataclass(frozen=True)
class Measured:
    """What was found out about one operation.

    call       the line of code; for a tie, with its inputs
    backward   the name of its node in the graph; "" if it has no derivative
    error      why it has no derivative; "" if it has one
    probes     {point, or name of the input: Probe}, of one float64 number; {} without a derivative
    elsewhere  {key of ELSEWHERE: {point: (value, gradient)}} where these differ from the Probe
    """

    call: str
    backward: str
    error: str
    probes: dict[str, Probe]
    elsewhere: dict[str, dict[str, tuple[float, float]]]


def measure(operation: Operation) -> Measured:
    """Measure an elementwise operation of this torch.

    Raises ValueError for one that is not elementwise.

    >>> measure(Operation("torch.sign(x)")).probes["0"].gradient
    0.0
    """
    _refuse_others(operation)
    value, gradient = values_of(operation), gradients_of(operation)
    backward, error = differentiable(operation, torch.full((1,), 0.3, dtype=torch.float64))
    if error:
        return Measured(operation.call, "", error, {}, {})
    grid = GRID
    try:
        operation(GRID)
    except (RuntimeError, ValueError):
        grid = GRID[value(GRID).isfinite()]  # it refuses the others
    where = points(value, gradient, grid, KINKS.get(operation.call, ()))
    probes = without_idle({p: probe(value, gradient, number(p)) for p in where})
    if probes["-0"] == probes["0"]:
        del probes["-0"]
    elsewhere = {}
    for name, (dtype, count) in ELSEWHERE.items():
        pairs = {p: _pair(value, gradient, number(p, dtype).repeat(count)) for p in probes}
        elsewhere[name] = {p: pair for p, pair in pairs.items() if _differs(p, pair, probes[p])}
    return Measured(operation.call, backward, error, probes, elsewhere)


def _refuse_others(operation):
    x = torch.tensor([0.25, 0.5, 0.7], dtype=torch.float64)  # every operation takes these
    y = operation(x)
    single = isinstance(y, torch.Tensor) and y.shape == x.shape and operation(x[1:2]).shape == (1,)
    if not single or not torch.allclose(y[1:2], operation(x[1:2]), equal_nan=True):
        raise ValueError(
            f"{operation.call} is not elementwise: it needs to return a number for each of x, "
            "which depends on that number alone"
        )


def measure_tie(tie: Tie) -> Measured:
    """Measure a tie: each input is moved while the others stay; then all move together.

    >>> probes = measure_tie(Tie("torch.amax(x, 0)", {"x": (1, 1)})).probes
    >>> [(name, probe.gradient) for name, probe in probes.items()]
    [('x[0]', 0.5), ('x[1]', 0.5), ('together', 1.0)]
    """
    start = tie.start
    backward, error = differentiable(tie, start)
    gradient = gradients_of(tie)(start, whole=True)
    directions = dict(zip(tie.labels, torch.eye(len(start), dtype=start.dtype), strict=True))
    if start.isfinite().all():
        directions["together"] = torch.ones_like(start)
    probes = {}
    for name, direction in directions.items():
        moves = direction.bool()

        def value(x, moves=moves):
            step = (x - start[moves][0]).nan_to_num(0)  # nothing moves away from infinity
            try:
                return tie(start.where(~moves, start + step)).detach().view(1)
            except (RuntimeError, ValueError):  # out of its domain
                return torch.full((1,), math.nan)

        total = gradient[moves].sum()
        probes[name] = probe(value, lambda _, total=total: total, start[moves][:1])
    return Measured(tie.name, backward, error, probes, {})


def _pair(value, gradient, x):
    return rounded(value(x)[0].item()), rounded(gradient(x)[0].item())


def _differs(point, pair, double):
    """Neighbours lie elsewhere in float32: of them, only NaN and infinity can be compared."""
    same = close if point[0] not in "<>" else lambda a, b: _not_finite(a) == _not_finite(b)
    return not (same(pair[0], double.value) and same(pair[1], double.gradient))


def _not_finite(number):
    return "" if isfinite(number) else str(number)


def differentiable(operation: Callable, x: torch.Tensor) -> tuple[str, str]:
    """(name of its node in the graph, "") or ("", why it has no derivative).

    >>> differentiable(torch.special.airy_ai, torch.zeros(1))
    ('', 'no error, but the result has no grad_fn')
    """
    try:
        y = operation(x.clone().requires_grad_())
        if not y.requires_grad:
            return "", "no error, but the result has no grad_fn"
        y.sum().backward()
    except RuntimeError as error:
        return "", str(error).splitlines()[0]
    return y.grad_fn.name(), ""


def without_idle(probes: dict[str, Probe]) -> dict[str, Probe]:
    """Without the points where nothing changes: an inflection looks like a kink from afar.

    >>> smooth = Probe(value=0, gradient=1, left=1, right=1, below=0, above=0)
    >>> list(without_idle({"<3": smooth, "3": smooth, ">3": smooth, "0": smooth}))
    ['0']
    """
    keep = {"0", *PLAIN, *ALWAYS}
    for point, each in probes.items():
        sides = [(side + point, probes[side + point]) for side in "<>" if side + point in probes]
        idle = all(
            kind(name, side) == kind(point, each) and close(side.gradient, each.gradient)
            for name, side in sides
        )
        if sides and (not idle or jumps(each)):
            keep.add(point)
    return {point: each for point, each in probes.items() if point.lstrip("<>") in keep}


def values_of(operation: Callable) -> Callable:
    """The operation on tensors that need no gradient; NaN where it raises, number by number.

    >>> values_of(torch.sqrt)(torch.tensor([4.0]))
    tensor([2.])
    """

    def value(x):
        shape, flat = x.shape, x.detach().flatten()
        try:
            return operation(flat).view(shape)
        except (RuntimeError, ValueError):
            if len(flat) == 1:
                return torch.full(shape, math.nan, dtype=x.dtype)
            return torch.cat([value(each) for each in flat.split(1)]).view(shape)

    return value


def gradients_of(operation: Callable) -> Callable:
    """What autograd returns for an upstream gradient of 1; NaN where it raises.

    >>> gradients_of(torch.sqrt)(torch.tensor([4.0]))
    tensor([0.2500])
    """

    def gradient(x, whole=False):
        shape, flat = x.shape, x.detach().flatten().requires_grad_()
        try:
            return torch.autograd.grad(operation(flat).sum(), flat)[0].view(shape)
        except (RuntimeError, ValueError):
            if whole or len(flat) == 1:
                return torch.full(shape, math.nan, dtype=x.dtype)
            return torch.cat([gradient(each) for each in flat.detach().split(1)]).view(shape)

    return gradient
