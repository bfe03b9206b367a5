"""Where to ask an elementwise function: on a grid, at its kinks, and away from them."""

import math
from dataclasses import dataclass
from functools import partial

import torch

from autograd_surprises.numerics import find_jumps, find_kinks, is_elementwise
from autograd_surprises.report_card.example import Example

WIDE, FAR = 3.0, 30.0
BEYOND = 12.0  # past the ends of hardswish, relu6 and the like, at 3 and 6


@dataclass(frozen=True)
class Samples:
    """Numbers in float64."""

    # Where value or gradient of fn or like jumps or bends, and every half integer.
    kinks: torch.Tensor
    ordinary: torch.Tensor  # all others of the grid and of the example
    jumps: torch.Tensor  # of fn's own gradient: where a mask begins
    # At most 8 from -3 to 3, away from kinks, finite, the same in float64 and bfloat16.
    quiet: torch.Tensor


def elementwise_grid(example: Example) -> torch.Tensor | None:
    """From -12 to 12 and over the example, densely from -3 to 3, where most kinks are.

    None if fn is not elementwise, refuses some of that, or has more than one input to
    differentiate.

    >>> elementwise_grid(Example(lambda x: x.cumsum(0), (torch.randn(3),))) is None
    True
    """
    if len(example.chosen) > 1:
        return None
    x = example.given[0].double()
    low, high = x.min().item(), x.max().item()
    dense = _evenly(max(min(low, -WIDE), -FAR), min(max(high, WIDE), FAR), 401)
    beyond = _evenly(-BEYOND, BEYOND, 193)
    outside = (beyond < dense[0]) | (beyond > dense[-1])
    grid = torch.cat([dense, beyond[outside]]).sort().values
    return grid if _is_elementwise(example, grid) else None


def _evenly(start, stop, count):
    steps = torch.arange(count, dtype=torch.float64)
    # torch.linspace rounds in another way on another processor
    return (start * steps.flip(0) + stop * steps) / (count - 1)


def _is_elementwise(example, grid):
    try:
        for function in filter(None, (example.fn, example.like)):
            example.gradient_on(grid, function)
        kept = example.call(example.given).shape == example.given[0].shape
        return kept and is_elementwise(example.value_on, grid)
    except Exception:  # whatever it says, it does not take these numbers
        return False


def find_samples(example: Example, grid: torch.Tensor) -> Samples:
    """Look for kinks on the grid, and for numbers away from them."""
    jumps, others = [], []
    for function in filter(None, (example.fn, example.like)):
        value = partial(example.value_on, function=function)
        gradient = partial(example.gradient_on, function=function)
        jumps.append(find_jumps(gradient, grid))
        others += [find_jumps(value, grid), find_kinks(value, grid), find_kinks(gradient, grid)]
    found = _to_round_numbers(torch.cat([*jumps, *others])).unique()
    first, last = math.ceil(2 * grid[0].item()), math.floor(2 * grid[-1].item())
    halves = torch.arange(first, last + 1, dtype=torch.float64) / 2
    kinks = torch.cat([found, halves]).unique()
    given = example.given[0].double().flatten().cpu()
    ordinary = torch.cat([grid, given])
    ordinary = ordinary[~torch.isin(ordinary, kinks)]
    return Samples(kinks, ordinary, jumps[0], _quiet(example, found))


def _to_round_numbers(x):
    """A jump lies between two floats: where one of them is a round number, it is that one."""
    round_number = torch.round(x, decimals=12)
    return torch.where((round_number - x).abs() <= 4e-16 * x.abs(), round_number, x)


def _quiet(example, kinks):
    evenly = _evenly(-WIDE, WIDE, 385)  # 64 to each unit, round numbers among them
    candidates = evenly.bfloat16().double().unique()
    finite = example.value_on(candidates).isfinite() & example.gradient_on(candidates).isfinite()
    candidates = candidates[finite] if finite.any() else evenly
    kinks = torch.cat([kinks, torch.zeros(1, dtype=torch.float64)])
    away = (candidates[:, None] - kinks).abs().amin(1).clamp(max=0.05)
    parts = zip(candidates.tensor_split(8), away.tensor_split(8), strict=True)
    best = [part[far == far.max()].tolist() for part, far in parts if len(part)]
    round_numbers = [min(part, key=lambda x: (len(f"{x:g}"), abs(x))) for part in best]
    return torch.tensor(round_numbers, dtype=torch.float64)
