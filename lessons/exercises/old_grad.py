"""A leaf whose .grad holds an old gradient: the answer may neither change it nor return it."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from lessons.exercises.answers import expect_close

BEFORE = 10.0


def preset_grad(*leaves: torch.Tensor) -> None:
    """Set each .grad to BEFORE, as if there had been a backward."""
    for leaf in leaves:
        leaf.grad = torch.full_like(leaf, BEFORE)


def leaf_with_old_grad(values: list, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    preset_grad(x)
    return x


def expect_kept(where: str, leaf: torch.Tensor) -> None:
    """Raise Wrong unless the leaf's .grad is as preset_grad left it."""
    why = "It has to stay as it was: backward() writes there, torch.autograd.grad does not."
    expect_close(f"{where} after the call", leaf.grad, torch.full_like(leaf, BEFORE), why=why)


def expect_new_gradient(
    where: str, yours: object, expected: torch.Tensor, mistakes: Mapping[str, torch.Tensor]
) -> None:
    """Like expect_close, and an old gradient that was added is reported as a mistake."""
    old = (
        "The old content of x.grad was added to it: backward() adds, torch.autograd.grad does not."
    )
    expect_close(where, yours, expected, {**mistakes, old: expected + BEFORE})
