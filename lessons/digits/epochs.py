"""Train anything on the digits, one epoch after another."""

from collections.abc import Callable, Iterator

import torch

from autograd_surprises.numerics import one_thread
from lessons.digits.images import TRAINING

EPOCHS, BATCH = 15, 64


def epochs(
    loss_of: Callable[[torch.Tensor], torch.Tensor],
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
) -> Iterator[int]:
    """Train for 15 epochs; after each one, yield its number, from 1 on.

    `loss_of(rows)` is the loss of the digits in these rows. `generator` shuffles them. An epoch
    runs in one thread: for so small a network, several would only wait for each other.

    >>> scale = torch.ones(1, requires_grad=True)
    >>> loss_of = lambda rows: (scale * len(rows)).sum()
    >>> list(epochs(loss_of, torch.optim.SGD([scale]), torch.Generator()))[-1]
    15
    """
    for epoch in range(1, EPOCHS + 1):
        with one_thread():
            for rows in TRAINING[torch.randperm(len(TRAINING), generator=generator)].split(BATCH):
                optimizer.zero_grad()
                loss_of(rows).backward()
                optimizer.step()
        yield epoch
