"""Checks on NaN: the logarithm of a probability that is 0, and padding."""

import torch
from torch import nn

from lessons.asking.arguments import random_tensors
from lessons.asking.bug_hunt import hunt
from lessons.asking.registry import check_of


def _class_loss(weight, x, target):
    return nn.functional.cross_entropy(x @ weight, target)


@check_of("nan.1", "A finite loss, however sure the model is.")
def check_repaired_class_loss(answer):
    points = []
    for seed, (size, rows, classes) in enumerate(((1.0, 5, 3), (1e3, 5, 3), (1e3, 6, 4))):
        weight, x = random_tensors(seed, (4, classes), (rows, 4))
        points.append((weight, size * x, torch.arange(rows) % classes))
    mistakes = {
        "That is the sum, expected the mean.": lambda w, x, t: _class_loss(w, x, t) * len(x),
        "A probability is rounded to 0, and its logarithm is -inf: do not compute it at all.": (
            lambda w, x, t: -torch.softmax(x @ w, 1)[torch.arange(len(x)), t].log().mean()
        ),
    }
    hunt(answer, _class_loss, points, mistakes)


def _direction_loss(weight, tokens, seen, target):
    directions = nn.functional.normalize(tokens[seen] @ weight, eps=0.0)
    return ((directions - target[seen]) ** 2).sum() / seen.sum()


@check_of("nan.2", "No NaN, and the value has not changed.")
def check_repaired_direction_loss(answer):
    points = []
    for seed, (padded, rows, wide) in enumerate((([3], 5, 2), ([0, 4], 5, 2), ([], 6, 3))):
        weight, tokens, target = random_tensors(seed, (4, wide), (rows, 4), (rows, wide))
        seen = torch.ones(rows, dtype=torch.bool)
        seen[padded] = False
        tokens[~seen] = 0.0
        tokens[1] *= 1e-3  # a short vector, to which an added number makes a difference
        points.append((weight, tokens, seen, target))
    mistakes = {
        "That is the mean over all rows, expected over those that are seen.": (
            lambda w, x, seen, t: _direction_loss(w, x, seen, t) * seen.sum() / len(seen)
        ),
        "The padded rows count, too: they have to be left out.": (
            lambda w, x, seen, t: (
                _direction_loss(w, x, seen, t) + (t[~seen] ** 2).sum() / seen.sum()
            )
        ),
        "The vectors are not divided by their length.": (
            lambda w, x, seen, t: ((x @ w - t)[seen] ** 2).sum() / seen.sum()
        ),
    }
    hunt(answer, _direction_loss, points, mistakes)
