"""Noise instead of the gradient, through a part of the graph: what would arrive if it were there?

Backward is linear in what arrives. So noise finds out, on this very graph, whether a step lets a
gradient through, and which step made the zeros of a gradient.
"""

from collections.abc import Iterable
from itertools import islice

import torch
from torch.autograd import grad as gradients  # as it was before a user wrapped it
from torch.autograd.graph import GradientEdge

from autograd_surprises.backward.steps import BackwardStep
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.facts.graph import Node

SHARE = 0.5  # of the zeros have to be a step's, if it is to be blamed for them
PERIOD = 10_007  # a prime, so that no two rows of a tensor are the same
TRIES = 3  # steps that are tried for one tensor


def sent(backward: Backward, starts: Iterable[tuple], end: tuple[Node, int]) -> torch.Tensor | None:
    """What arrives at the edge `end` if noise arrives at the edges `starts`; None if unknown.

    It is not known where a hook or a Function of the user would see the noise, or where the graph
    does not run a second time.

    >>> loss = torch.ones(2, requires_grad=True).round().sum()
    >>> backward = Backward(loss.grad_fn)
    >>> backward.run(loss, None)
    >>> step = backward.steps[loss.grad_fn.next_functions[0][0]]
    >>> sent(backward, arriving_at(step), step.edges[0]).any()
    tensor(False)
    """
    starts = [edge for edge in dict.fromkeys(starts) if edge in backward.like]
    if not starts or not backward.may_run_again:
        return None
    try:
        noise = [_noise(*backward.like[edge]) for edge in starts]
        with backward.unnoticed():
            (arrived,) = gradients(
                [GradientEdge(*edge) for edge in starts],
                [GradientEdge(*end)],
                noise,
                retain_graph=True,
                allow_unused=True,
            )
    except Exception:  # freed, compiled without a second backward, or a dtype without randn
        return None
    return arrived if arrived is None or arrived.layout is torch.strided else None


def _noise(shape, dtype, device):
    """Random numbers, drawn once and repeated: drawing takes longer than most steps of backward."""
    wide = dtype if dtype.is_complex else torch.promote_types(dtype, torch.float32)
    drawn = torch.randn(PERIOD, generator=torch.Generator().manual_seed(0), dtype=wide)
    drawn = drawn.to(device, dtype)
    return drawn.repeat(shape.numel() // PERIOD + 1)[: shape.numel()].view(shape)


def arriving_at(step: BackwardStep) -> list[tuple[Node, int]]:
    """The edges at which a gradient arrived at this step."""
    return [(step.node, i) for i, size in enumerate(step.arriving) if size]


def leaving(step: BackwardStep) -> list[tuple[Node, int]]:
    """The edges at which a gradient left this step."""
    return [edge for edge, size in zip(step.edges, step.leaving, strict=True) if size]


def maker_of_zeros(
    backward: Backward, zeros: torch.Tensor, end: tuple[Node, int], suspects: Iterable[BackwardStep]
) -> BackwardStep | None:
    """The step that made most of these zeros of the gradient at `end`, if it can be proven.

    Whatever arrives at that step, the zeros stay; and what leaves it would fill them.

    zeros     where the gradient is 0
    suspects  steps above the tensor, the nearest first
    """
    for step in islice(suspects, TRIES):
        arrived = sent(backward, arriving_at(step), end)
        if arrived is None:
            return None
        made = zeros & ~arrived.bool()
        if _share(made, zeros) < SHARE:
            continue  # most come from farther up
        if end not in step.edges:
            left = sent(backward, leaving(step), end)
            made = made & left.bool() if left is not None else torch.zeros_like(made)
        if _share(made, zeros) >= SHARE:
            return step
    return None


def _share(some, zeros):
    return int(torch.count_nonzero(some)) / int(torch.count_nonzero(zeros))
