"""Right and wrong answers on two looks that draw the same patch."""

from itertools import combinations

import torch
import torch.nn.functional as F


def pairs(of, looks=combinations):
    """The sum of this product over all pairs of looks."""

    def overlap(scores):
        return sum(of(scores, i, j) for i, j in looks(range(len(scores)), 2))

    return overlap


def by_softmax(scores, i, j):
    return scores[i].softmax(-1) @ scores[j].softmax(-1)


def matrix(p, reduce):
    return reduce(p @ p.mT)


def upper(every):
    return every.triu(1).sum()


def off_diagonal(every):
    return every.sum() - every.diagonal().sum()


def both_orders(places, count):
    return [(i, j) for i in places for j in places if i != j]


def as_a_number(scores):
    return torch.tensor(pairs(by_softmax)(scores).item(), dtype=scores.dtype)


RIGHT = {
    "three_patches.1": {
        "pair by pair": pairs(by_softmax),
        "half of both orders": lambda scores: matrix(scores.softmax(-1), off_diagonal) / 2,
    }
}

WRONG = {
    "three_patches.1": {
        "both orders": (pairs(by_softmax, both_orders), "Each pair is counted twice."),
        "with the diagonal": (
            lambda scores: matrix(scores.softmax(-1), torch.sum),
            "Each look is compared with itself, too.",
        ),
        "the scores": (
            pairs(lambda scores, i, j: scores[i] @ scores[j]),
            "take their softmax first",
        ),
        "over the looks": (
            lambda scores: matrix(scores.softmax(0), upper),
            "The softmax is over the looks",
        ),
        "the choices": (
            lambda scores: matrix(
                F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype), upper
            ),
            "which no gradient reaches",
        ),
        "a number": (as_a_number, "has no graph: leave out"),
        "half detached": (
            pairs(lambda scores, i, j: scores[i].softmax(-1) @ scores[j].softmax(-1).detach()),
            "gradient with respect to scores",
        ),
    }
}
