"""The digits in batches, and the loss of a network that reads them, drawn step by step."""

import math
from collections.abc import Iterator, Sequence

import torch

from autograd_surprises.show.colours import VALUE_COLOUR
from autograd_surprises.show.picture import Picture
from lessons.digits.images import IMAGES, LABELS, TRAINING


def batches(steps: int = 60) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield images of shape (100, 64) and their digits of shape (100,), the same at each call.

    >>> [images.shape for images, digits in batches(1)]
    [torch.Size([100, 64])]
    """
    for step in range(steps):
        rows = TRAINING[100 * (step % 12) :][:100]
        yield IMAGES[rows], LABELS[rows]


def show_losses(losses: Sequence[float]) -> Picture:
    """Draw the loss at each step, and that of a guess among ten digits, which is ln 10.

    >>> show_losses([2.4, 0.5]).summary
    'Reading digits: loss 2.40 to 0.50; a guess has 2.30'
    """
    figure = Picture(6, 3)
    axes = figure.subplots()
    axes.axhline(math.log(10), color="#999999", ls="--", lw=1)
    axes.text(len(losses) - 1, math.log(10) - 0.1, "a guess", ha="right", va="top")
    axes.plot(losses, color=VALUE_COLOUR, lw=2)
    title = f"Reading digits: loss {losses[0]:.2f} to {losses[-1]:.2f}"
    axes.set(ylim=(0, 3.2), xlabel="step", ylabel="loss", title=title)
    figure.summary = f"{title}; a guess has {math.log(10):.2f}"
    return figure


def two_layers() -> tuple[torch.Tensor, torch.Tensor]:
    """The weights of a network 64 to 32 to 10, small and random, the same at each call.

    >>> [weight.shape for weight in two_layers()]
    [torch.Size([64, 32]), torch.Size([32, 10])]
    """
    generator = torch.Generator().manual_seed(0)
    shapes = (64, 32), (32, 10)
    weights = [0.1 * torch.randn(shape, generator=generator) for shape in shapes]
    return tuple(weight.requires_grad_() for weight in weights)
