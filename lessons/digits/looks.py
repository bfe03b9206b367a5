"""A network that reads a digit from three of its patches, and ways to choose them."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

from helpers.functions import argmax_ste
from lessons.digits.epochs import epochs
from lessons.digits.images import HELD_OUT, IMAGES, LABELS

PATCHES = IMAGES.view(-1, 4, 2, 4, 2).transpose(2, 3).reshape(-1, 16, 4)  # 16 of 2 by 2 pixels
WAYS = (
    "random patches",
    "softmax",
    "straight-through",
    "Gumbel-softmax",
    "Gumbel-softmax, hard",
    "REINFORCE",
)


def hard(scores):
    """1 at the patch with the highest score, and 0 elsewhere."""
    return F.one_hot(scores.argmax(-1), 16).float()


def weights(way, scores):
    """What the patches are multiplied by in training."""
    if way == "softmax":
        return scores.softmax(-1)
    if way == "straight-through":
        return argmax_ste(scores)
    if way == "Gumbel-softmax":
        return F.gumbel_softmax(scores)
    if way == "Gumbel-softmax, hard":
        return F.gumbel_softmax(scores, hard=True)
    return hard(scores)


def loss_of_weights(way, model, scores, x, y):
    """The cross entropy of a network that gets the weighted patches."""
    return F.cross_entropy(model(weights(way, scores) @ x), y)


def loss_of_reinforce(model, scores, x, y):
    """The cross entropy for random patches, and REINFORCE for their scores."""
    policy = Categorical(logits=scores)
    chosen = policy.sample()
    losses = F.cross_entropy(model(F.one_hot(chosen, 16).float() @ x), y, reduction="none")
    advantage = (losses - losses.mean()).detach()
    return losses.mean() + (advantage * policy.log_prob(chosen).sum(-1)).mean()


def train_reader(way: str, seed: int, scores: torch.Tensor | None = None):
    """Train a network, and the scores of its three looks. Returns both.

    way     one of WAYS; "random patches" leaves the scores as they are
    seed    for the first weights, the order of the digits, and random choices
    scores  the first scores, of shape (3, 16); random if left out

    >>> model, scores = train_reader("softmax", seed=0)
    >>> percent_read(model, scores.softmax(-1)) > 70
    True
    """
    torch.manual_seed(seed)
    drawn = 0.1 * torch.randn(3, 16)
    scores = (drawn if scores is None else scores.clone()).requires_grad_()
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 10))
    groups = [{"params": model.parameters(), "lr": 0.01}, {"params": [scores], "lr": 0.05}]

    def loss_of(rows):
        same_for_all = scores.expand(len(rows), 3, 16)
        if way == "REINFORCE":
            return loss_of_reinforce(model, same_for_all, PATCHES[rows], LABELS[rows])
        return loss_of_weights(way, model, same_for_all, PATCHES[rows], LABELS[rows])

    for _ in epochs(loss_of, torch.optim.Adam(groups), torch.Generator().manual_seed(seed)):
        pass  # it trains an epoch
    return model, scores.detach()


@torch.no_grad()
def percent_read(model: nn.Module, weights: torch.Tensor) -> float:
    """How many held-out digits the network reads if their patches are weighted like this.

    >>> model, scores = train_reader("random patches", seed=0)
    >>> percent_read(model, hard(scores)) > 40
    True
    """
    right = model(weights @ PATCHES[HELD_OUT]).argmax(1) == LABELS[HELD_OUT]
    return 100 * right.float().mean().item()


def measure_reader(way: str, seed: int) -> dict[str, float | list[int]]:
    """The three patches that a training ends with, and what networks read, in percent.

    own      its own network reads with these patches
    mixture  its own network reads with a mixture by softmax
    new      a new network reads that was trained on these patches

    >>> list(measure_reader("random patches", seed=0))
    ['patches', 'own', 'mixture', 'new']
    """
    model, scores = train_reader(way, seed)
    new, _ = train_reader("random patches", seed, scores)
    return {
        "patches": scores.argmax(-1).tolist(),
        "own": round(percent_read(model, hard(scores)), 1),
        "mixture": round(percent_read(model, scores.softmax(-1)), 1),
        "new": round(percent_read(new, hard(scores)), 1),
    }
