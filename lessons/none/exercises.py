"""Checks on lost paths: a cut that is covered up, and a part of the loss that is cut off."""

import torch

from lessons.asking.arguments import random_tensors
from lessons.asking.bug_hunt import hunt
from lessons.asking.registry import check_of


def _fit_loss(weight, x, target):
    return ((torch.tanh(x @ weight) - target) ** 2).mean()


@check_of("none.1", "The true gradient, and nothing left that hides the next cut.")
def check_repaired_fit_loss(answer):
    points = [
        random_tensors(seed, (wide,), (rows, wide), (rows,))
        for seed, (wide, rows) in enumerate([(3, 5), (3, 5), (2, 4)])
    ]
    mistakes = {
        "That is the sum, expected the mean.": lambda w, x, t: len(x) * _fit_loss(w, x, t),
        "The tanh is missing.": lambda w, x, t: ((x @ w - t) ** 2).mean(),
    }
    hunt(answer, _fit_loss, points, mistakes)


def _penalized_loss(weight, x, target):
    return ((x @ weight - target) ** 2).mean() + 0.1 * (weight.topk(2).values ** 2).sum()


@check_of("none.2", "The whole gradient: that of the error, and that of the penalty.")
def check_repaired_penalized_loss(answer):
    points = [
        random_tensors(seed, (wide,), (rows, wide), (rows,))
        for seed, (wide, rows) in enumerate([(4, 5), (4, 5), (3, 6)])
    ]

    def error(w, x, t):
        return ((x @ w - t) ** 2).mean()

    mistakes = {
        "The penalty is missing.": error,
        "That is the penalty on all weights, expected on the two largest.": (
            lambda w, x, t: error(w, x, t) + 0.1 * (w**2).sum()
        ),
        "Those are the two largest in size; -3 is smaller than 1.": (
            lambda w, x, t: error(w, x, t) + 0.1 * (w.abs().topk(2).values ** 2).sum()
        ),
    }
    hunt(answer, _penalized_loss, points, mistakes)
