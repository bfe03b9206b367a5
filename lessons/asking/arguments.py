"""What a check hands to an answer: random tensors, and leaves whose .grad must stay as it is."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lessons.asking.answers import Mistakes, expect_close

BEFORE = 10.0


def random_tensors(
    seed: int, *shapes: Sequence[int], dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    """Normal numbers, a tensor of each shape; the same in each check of an answer.

    >>> [each.shape for each in random_tensors(0, (2, 3), (4,))]
    [torch.Size([2, 3]), torch.Size([4])]
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [each.to(dtype) for each in drawn]


def small_network(inputs: int, hidden: int, outputs: int, dtype: torch.dtype) -> nn.Sequential:
    """Two layers with a tanh between them; the same weights in each check of an answer."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, outputs)
    return nn.Sequential(*layers).to(dtype)


def preset_grad(*leaves: Tensor) -> None:
    """Set each .grad to BEFORE, as if there had been a backward."""
    for leaf in leaves:
        leaf.grad = torch.full_like(leaf, BEFORE)


def leaf_with_old_grad(values: list, dtype: torch.dtype) -> Tensor:
    """A leaf with these numbers, whose .grad is preset."""
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    preset_grad(x)
    return x


def expect_kept(where: str, leaf: Tensor) -> None:
    """Raise Wrong unless the leaf's .grad is as preset_grad left it."""
    why = "It has to stay as it was: backward() writes there, torch.autograd.grad does not."
    expect_close(f"{where} after the call", leaf.grad, torch.full_like(leaf, BEFORE), why=why)


def expect_new_gradient(where: str, yours: object, expected: Tensor, mistakes: Mistakes) -> None:
    """Like expect_close, and an old gradient that was added is reported as a mistake."""
    old = (
        "The old content of x.grad was added to it: backward() adds, torch.autograd.grad does not."
    )
    expect_close(where, yours, expected, {**mistakes, old: expected + BEFORE})
