"""Where to ask an elementwise function: on a grid, at its kinks, and away from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from autograd_surprises.numerics import find_jumps, find_kinks

WIDE, FAR = 3.0, 30.0


@dataclass(frozen=True)
class Points:
    """Numbers in float64.

    kinks     where value or gradient of fn or like jumps or bends, and every half integer
    ordinary  all others of the grid and of the example
    jumps     of fn's own gradient: where a mask begins
    quiet     at most 8, far from kinks, finite, and the same in float64 and bfloat16
    """

    kinks: torch.Tensor
    ordinary: torch.Tensor
    jumps: torch.Tensor
    quiet: torch.Tensor


def value_on(subject, x, function=None) -> torch.Tensor:
    """function(x) for float64 numbers x, as float64 numbers."""
    return subject.call([x.to(subject.device)], function).detach().cpu()


def slope_on(subject, x, function=None) -> torch.Tensor:
    """What autograd returns for x and upstream gradient 1.

    >>> from autograd_surprises.report_card.subject import Subject
    >>> slope_on(Subject(torch.exp, None, (torch.ones(2),), (0,)), torch.zeros(1).double())
    tensor([1.], dtype=torch.float64)
    """
    x = x.to(subject.device)
    return subject.gradients([x], torch.ones_like(x), function)[0].cpu()


def elementwise_grid(subject) -> torch.Tensor | None:
    """From -3 to 3 and over the example, or only over the example if fn refuses that."""
    if len(subject.chosen) > 1:
        return None
    x = subject.example[0].double()
    low, high = x.min().item(), x.max().item()
    wide = max(min(low, -WIDE), -FAR), min(max(high, WIDE), FAR)
    inset = 2e-4 + 1e-3 * (high - low)  # finite differences take a step to both sides
    for start, stop in (wide, (low + inset, high - inset)):
        grid = torch.linspace(start, stop, 401, dtype=torch.float64)
        if start < stop and _is_elementwise(subject, grid):
            return grid
    return None


def _is_elementwise(subject, grid):
    """Do the same numbers give the same results in another tensor?"""
    try:
        for function in filter(None, (subject.fn, subject.like)):
            slope_on(subject, grid, function)
        y = value_on(subject, grid)
        some = (slice(100, 200), grid.argsort().flip(0))
        others = [(y[part], value_on(subject, grid[part])) for part in some]
        kept = subject.call(subject.example).shape == subject.example[0].shape
    except Exception:  # whatever it says, it does not take these numbers
        return False
    same = all(torch.allclose(*pair, 1e-9, 1e-12, equal_nan=True) for pair in others)
    return kept and y.shape == grid.shape and same


def find_points(subject) -> Points:
    """Look for kinks on the grid, and for points away from them."""
    grid = subject.grid
    jumps, bends = [], []
    for function in filter(None, (subject.fn, subject.like)):
        value = lambda x, f=function: value_on(subject, x, f)  # noqa: E731
        slope = lambda x, f=function: slope_on(subject, x, f)  # noqa: E731
        jumps.append(find_jumps(slope, grid))
        bends += [find_jumps(value, grid), find_kinks(value, grid)]
    found = _rounded(torch.cat([*jumps, *bends])).unique()
    first, last = math.ceil(2 * grid[0].item()), math.floor(2 * grid[-1].item())
    halves = torch.arange(first, last + 1, dtype=torch.float64) / 2
    kinks = torch.cat([found, halves]).unique()
    example = subject.example[0].double().flatten().cpu()
    if subject.narrow:
        example = example[(example >= grid[0]) & (example <= grid[-1])]
    ordinary = torch.cat([grid, example])
    ordinary = ordinary[~torch.isin(ordinary, kinks)]
    return Points(kinks, ordinary, jumps[0], _quiet(subject, grid, found))


def _rounded(x):
    """A jump lies between two floats: where one of them is a round number, it is that one."""
    round_number = torch.round(x, decimals=12)
    return torch.where((round_number - x).abs() <= 4e-16 * x.abs(), round_number, x)


def _quiet(subject, grid, kinks):
    low, high = (grid[0], grid[-1]) if subject.narrow else (-WIDE, WIDE)
    # from -3 to 3 these are 64 to each unit, round numbers among them
    evenly = torch.linspace(low, high, 385, dtype=torch.float64)
    candidates = evenly.bfloat16().double().unique()
    candidates = candidates[(candidates >= low) & (candidates <= high)]
    finite = value_on(subject, candidates).isfinite() & slope_on(subject, candidates).isfinite()
    candidates = candidates[finite] if finite.any() else evenly
    kinks = torch.cat([kinks, torch.zeros(1, dtype=torch.float64)])
    away = (candidates[:, None] - kinks).abs().amin(1).clamp(max=0.05)
    parts = zip(candidates.tensor_split(8), away.tensor_split(8), strict=True)
    best = [part[far == far.max()].tolist() for part, far in parts if len(part)]
    round_numbers = [min(part, key=lambda x: (len(f"{x:g}"), abs(x))) for part in best]
    return torch.tensor(round_numbers, dtype=torch.float64)
