"""Measure one operation, or one tie of several inputs."""

import functools
import math
from collections.abc import Callable
from math import isfinite

import torch

from autograd_surprises.atlas.classes import Measured
from autograd_surprises.atlas.elementwise_operations import Operation
from autograd_surprises.atlas.measuring_points import GRID, points_to_measure, without_idle
from autograd_surprises.atlas.probe import close, probe_at, rounded
from autograd_surprises.atlas.rows import KINKS
from autograd_surprises.atlas.ties import Tie
from autograd_surprises.numerics import is_elementwise

EVERY_DOMAIN = torch.tensor([0.25, 0.5, 0.7], dtype=torch.float64)  # every operation takes these
# Where else each point is measured: in float32, and in a tensor of 64 equal numbers, which goes
# through the processor's vector instructions, a piece of code of its own.
ELSEWHERE = {
    "float32": (torch.float32, 1, "in float32"),
    "64 numbers": (torch.float64, 64, "in a tensor of 64"),
    "64 numbers, float32": (torch.float32, 64, "in a tensor of 64 in float32"),
}


def measure(operation: Operation) -> Measured:
    """Measure an elementwise operation of this torch.

    Raises ValueError for one that is not elementwise.

    >>> measure(Operation("torch.sign(x)")).probes["0"].gradient
    0.0
    """
    if not is_elementwise(operation, EVERY_DOMAIN):
        raise ValueError(
            f"{operation.expression} is not elementwise: each number that it returns needs to "
            "depend on one number of x alone"
        )
    value, gradient = value_function(operation), gradient_function(operation)
    backward, error = _node_or_error(operation, torch.full((1,), 0.3, dtype=torch.float64))
    if error:
        return Measured(operation.expression, "", error, {}, {})
    known = KINKS.get(operation.expression, ())
    points = points_to_measure(value, gradient, _accepted(operation, value), known)
    probes = {point: probe_at(value, gradient, point.tensor(), point.side) for point in points}
    probes = without_idle(probes)
    if probes["-0"] == probes["0"]:
        del probes["-0"]
    elsewhere = {
        name: _differences(value, gradient, probes, dtype, count)
        for name, (dtype, count, _) in ELSEWHERE.items()
    }
    return Measured(operation.expression, backward, "", probes, elsewhere)


def _accepted(operation, value):
    """The part of GRID that the operation does not refuse."""
    try:
        operation(GRID)
    except (RuntimeError, ValueError):
        return GRID[value(GRID).isfinite()]
    return GRID


def _differences(value, gradient, probes, dtype, count):
    """{point: (value, gradient)} where they are others in a tensor of so many numbers."""
    pairs = {}
    for point, double in probes.items():
        x = point.tensor(dtype).repeat(count)
        pair = rounded(value(x)[0].item()), rounded(gradient(x)[0].item())
        # in float32 neighbours lie elsewhere: of them, only NaN and infinity can be compared
        same = [
            close(a, b) or bool(point.side) and isfinite(a) and isfinite(b)
            for a, b in zip(pair, (double.value, double.gradient), strict=True)
        ]
        if not all(same):
            pairs[point] = pair
    return pairs


def measure_tie(tie: Tie) -> Measured:
    """Measure a tie: each input moves while the others stay; then all move together.

    >>> probes = measure_tie(Tie("torch.amax(x, 0) at x = (1, 1)")).probes
    >>> [(name, probe.gradient) for name, probe in probes.items()]
    [('x[0]', 0.5), ('x[1]', 0.5), ('together', 1.0)]
    """
    start = tie.start
    backward, error = _node_or_error(tie, start)
    gradient = torch.full_like(start, math.nan) if error else _gradient(tie, start)
    directions = dict(zip(tie.labels, torch.eye(len(start), dtype=start.dtype), strict=True))
    if start.isfinite().all():
        directions["together"] = torch.ones_like(start)
    probes = {}
    for name, direction in directions.items():
        moves = direction.bool()
        value = value_function(functools.partial(_with_input, tie, start, moves))
        total = gradient[moves].sum()
        probes[name] = probe_at(value, lambda _, total=total: total, start[moves][:1])
    return Measured(tie.name, backward, error, probes, {})


def _with_input(tie, start, moves, x):
    """The tie where the first of the moving inputs is x, a tensor of shape (1,)."""
    step = (x - start[moves][0]).nan_to_num(0)  # nothing moves away from infinity
    return tie(start.where(~moves, start + step)).view(1)


def _node_or_error(operation, x):
    """(name of its node in the graph, "") or ("", why it has no derivative)."""
    try:
        y = operation(x.clone().requires_grad_())
        if not y.requires_grad:
            return "", "no error, but the result has no grad_fn"
        y.sum().backward()
    except RuntimeError as error:
        return "", str(error).splitlines()[0]
    return y.grad_fn.name(), ""


def value_function(operation: Callable) -> Callable:
    """The operation on tensors that need no gradient; NaN for numbers that it refuses.

    >>> value_function(torch.sqrt)(torch.tensor([4.0]))
    tensor([2.])
    """
    return functools.partial(_where_possible, lambda x: operation(x.detach()))


def gradient_function(operation: Callable) -> Callable:
    """What autograd returns for an upstream gradient of 1; NaN for numbers that it refuses.

    >>> gradient_function(torch.sqrt)(torch.tensor([4.0]))
    tensor([0.2500])
    """
    return functools.partial(_where_possible, functools.partial(_gradient, operation))


def _gradient(operation, x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(operation(x).sum(), x)[0]


def _where_possible(fn, x):
    """fn(x); where that raises, number by number, and NaN for each that raises."""
    flat = x.flatten()
    try:
        return fn(flat).view(x.shape)
    except (RuntimeError, ValueError):
        if len(flat) == 1:
            return torch.full(x.shape, math.nan, dtype=x.dtype)
        return torch.cat([_where_possible(fn, each) for each in flat.split(1)]).view(x.shape)
