"""A check on the gate of a mixture of experts."""

import torch

from lessons.asking.answers import call_answer, expect_close
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import check_of


@check_of(
    "answers_tokens_experts.1",
    "The factor depends on the score, even with one expert.",
    inputs=[
        # first with two: with one, some mistakes have the same value
        (*random_tensors(0, (3, 4), (3, 4)), 2),
        (*random_tensors(2, (4, 3), (4, 3), dtype=torch.float32), 1),
    ],
)
def check_gated(answer, scores, outputs, k):
    where = f"gated(scores of shape {tuple(scores.shape)}, outputs, {k})"
    scores, outputs = (each.clone().requires_grad_() for each in (scores, outputs))
    y = call_answer(answer, scores, outputs, k)
    p, chosen = scores.softmax(-1), _chosen(scores, k)
    best = scores.where(chosen, -torch.inf).softmax(-1)
    wanted = (p * outputs * chosen).sum(-1)
    mistakes = {
        "That is the softmax of the chosen scores alone: with k = 1 it is always 1, and the gate "
        "gets no gradient. Take it before you choose.": (best * outputs).sum(-1),
        "The gate multiplies nothing: times its probability.": (outputs * chosen).sum(-1),
        "All experts are used: take the best k alone.": (p * outputs).sum(-1),
        "The scores themselves are multiplied: take their softmax.": (
            (scores * outputs * chosen).sum(-1)
        ),
        "The softmax is over the tokens: take it over the experts.": (
            (scores.softmax(0) * outputs * chosen).sum(-1)
        ),
        "The k largest products are taken: choose by the scores.": (
            (p * outputs).topk(k).values.sum(-1)
        ),
    }
    expect_close(f"{where}: value", y, wanted.detach(), mistakes)
    upstream = torch.arange(1, len(y) + 1, dtype=y.dtype) ** 2 / 2
    found = torch.autograd.grad(y, (scores, outputs), upstream, allow_unused=True)
    expected = torch.autograd.grad(wanted, (scores, outputs), upstream)
    for name, gradient, right in zip(("scores", "outputs"), found, expected, strict=True):
        why = "Leave out detach() and .item()."
        expect_close(f"{where}: gradient with respect to {name}", gradient, right, why=why)


def _chosen(scores, k):
    places = scores.topk(k).indices
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, places, True)
