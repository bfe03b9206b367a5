"""Checks on gradients of zero: dead units, and a softmax over one number."""

import torch

from lessons.asking.answers import call_answer, expect_close
from lessons.asking.arguments import random_tensors
from lessons.asking.bug_hunt import hunt
from lessons.asking.registry import check_of


def _revived(weight, bias, inputs):
    largest = (inputs @ weight + bias).max(dim=0).values
    return torch.where(largest <= 0, bias + 1 - largest, bias)


@check_of(
    "zero.1",
    "Each dead unit is on for a row, and the others are as they were.",
    inputs=[(2, 4, 5, torch.float32), (3, 5, 6, torch.float64)],
)
def check_revived(answer, wide, units, rows, dtype):
    weight, bias, inputs = random_tensors(0, (wide, units), (units,), (rows, wide), dtype=dtype)
    bias[0], bias[1], bias[2] = -10.0, -20.0, 10.0  # two are dead, one is on for every row
    largest = (inputs @ weight + bias).max(dim=0).values
    mistakes = {
        "That resets every unit, expected the dead ones alone.": bias + 1 - largest,
        "A bias of 0 is a guess: choose it such that the largest input of the relu is 1.": (
            torch.where(largest <= 0, 0.0, bias)
        ),
        "Those are the units that are off for some row; a dead one is off for every row.": (
            torch.where((inputs @ weight + bias <= 0).any(dim=0), bias + 1 - largest, bias)
        ),
        "The dead units are still dead.": bias,
    }
    yours = call_answer(answer, weight.clone(), bias.clone(), inputs.clone())
    expect_close("bias", yours, _revived(weight, bias, inputs), mistakes)


def _probability_loss(weight, x, target):
    return ((torch.sigmoid(x @ weight) - target) ** 2).mean()


@check_of("zero.2", "A probability that moves with its score.")
def check_repaired_probability_loss(answer):
    points = []
    for seed, (wide, rows) in enumerate([(3, 5), (3, 5), (2, 4)]):
        weight, x, target = random_tensors(seed, (wide,), (rows, wide), (rows,))
        points.append((weight, x, torch.sigmoid(target)))
    mistakes = {
        "A softmax over one number is 1, whatever the score.": (
            lambda w, x, t: ((1 - t) ** 2).mean()
        ),
        "That softmax runs over the samples, so their probabilities compete.": (
            lambda w, x, t: ((torch.softmax(x @ w, dim=0) - t) ** 2).mean()
        ),
        "A clamp is flat outside [0, 1]: there, the gradient is 0 again.": (
            lambda w, x, t: (((x @ w).clamp(0, 1) - t) ** 2).mean()
        ),
        "That is the sum, expected the mean.": lambda w, x, t: len(x) * _probability_loss(w, x, t),
    }
    hunt(answer, _probability_loss, points, mistakes)
