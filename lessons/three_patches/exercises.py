"""The check on how often two looks draw the same patch."""

import torch

from lessons.asking.answers import call_answer, expect_close
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import Wrong, check_of


@check_of(
    "three_patches.1",
    "Its gradient drives looks apart that would draw the same patch.",
    inputs=[random_tensors(0, (3, 4), dtype=torch.float32), random_tensors(0, (4, 6))],
)
def check_overlap(answer, scores):
    where = f"overlap(scores of shape {tuple(scores.shape)})"
    scores = scores.clone().requires_grad_()
    p = scores.softmax(-1)
    pairs = _of_pairs(p)
    wanted = pairs / 2
    every = p @ p.mT
    mistakes = {
        "Each pair is counted twice.": pairs,
        "Each look is compared with itself, too.": every.sum(),
        "The scores themselves are multiplied: take their softmax first.": _of_pairs(scores) / 2,
        "The softmax is over the looks: take it over the patches.": _of_pairs(scores.softmax(0))
        / 2,
        "That counts the patches with the highest score, which no gradient reaches.": _of_pairs(
            torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).to(p.dtype)
        )
        / 2,
    }
    value = call_answer(answer, scores)
    expect_close(where, value, wanted.detach(), mistakes)
    if not value.requires_grad:
        raise Wrong(f"{where} has no graph: leave out detach(), .item() and no_grad().")
    (of_scores,) = torch.autograd.grad(value, scores, retain_graph=True)
    (right,) = torch.autograd.grad(wanted, scores)
    expect_close(f"{where}: gradient with respect to scores", of_scores, right)


def _of_pairs(p):
    """The sum over all ordered pairs of different looks."""
    every = p @ p.mT
    return every.sum() - every.diagonal().sum()
