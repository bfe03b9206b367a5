"""The check on a straight-through choice of two."""

import torch

from lessons.asking.answers import call_answer, expect_close
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import Wrong, check_of

NO_GRAPH = (
    "The result has no graph: let the softmax carry the gradient, straight through the choice."
)


@check_of(
    "which_gradient_a_choice_passes_on.1",
    "Two options are chosen, and every score gets a gradient.",
    inputs=[(torch.tensor([0.5, 2.0, -1.0, 1.25]), 2.0), (*random_tensors(0, (3, 5)), 0.5)],
)
def check_top_two(answer, scores, temperature):
    where = f"straight_through_top_two(scores of shape {tuple(scores.shape)}, {temperature:g})"
    scores = scores.clone().requires_grad_()
    weights = call_answer(answer, scores, temperature, cures={"does not require grad": NO_GRAPH})
    soft = (scores / temperature).softmax(-1)
    chosen = _chosen(scores, 2)
    mistakes = {
        "That is the softmax: the forward pass has to choose.": soft,
        "Only the highest score is chosen.": _chosen(scores, 1),
        "The softmax is added to the choice: subtract it again, detached.": chosen + soft,
        "The two highest are taken of the first dimension.": _chosen(scores.mT, 2).mT
        if scores.dim() > 1
        else chosen - 1,
    }
    expect_close(f"{where}: value", weights, chosen, mistakes)
    if not weights.requires_grad:
        raise Wrong(f"{where}: {NO_GRAPH}")
    upstream = torch.arange(scores.numel(), dtype=scores.dtype).reshape(scores.shape) ** 2 - 2.5
    of_scores = torch.autograd.grad(weights, scores, upstream, retain_graph=True)[0]
    wanted = _gradient(soft, scores, upstream)
    mistakes = {
        "The temperature is missing.": _gradient(scores.softmax(-1), scores, upstream),
        "The sign is turned: subtract the detached softmax, and add the other.": -wanted,
        "That passes the upstream gradient on as it is: a softmax was asked for.": upstream,
    }
    expect_close(f"{where}: gradient with respect to scores", of_scores, wanted, mistakes)
    exact = scores.detach().bfloat16().requires_grad_()  # there, the order of the terms shows
    weights = call_answer(answer, exact, temperature)
    different = weights != _chosen(exact, 2)
    if different.any():
        yours = weights[different][0].item()
        raise Wrong(
            f"in bfloat16, a value is {yours:.4g} and not 0 or 1. What is rounded away does not "
            "come back: take the difference first."
        )


def _chosen(scores, count):
    places = scores.topk(count).indices
    return torch.zeros_like(scores).scatter(-1, places, 1.0).detach()


def _gradient(soft, scores, upstream):
    return torch.autograd.grad(soft, scores, upstream, retain_graph=True)[0]
