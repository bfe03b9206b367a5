"""Wrong answers to the bug hunts for NaN: too late, too early, or beside the point."""

import torch
from torch.nn import functional as F


def of_classes(logarithms):
    return lambda w, x, t: -logarithms(x @ w)[torch.arange(len(t)), t].mean()


def log_of_softmax(scores):
    return torch.softmax(scores, dim=1).log()


def direction(weight, tokens, seen, target, length=None, tidy=lambda directions: directions):
    vectors = tokens @ weight
    lengths = (length or plain_length)(vectors, seen)
    error = ((tidy(vectors / lengths) - target) ** 2).sum(1)
    return torch.where(seen, error, 0.0).sum() / seen.sum()


def plain_length(vectors, seen):
    return vectors.pow(2).sum(1, keepdim=True).sqrt()


def safe_length(vectors, seen):
    return torch.where(seen[:, None], vectors.pow(2).sum(1, keepdim=True), 1.0).sqrt()


def directed(**changes):
    return lambda *inputs: direction(*inputs, **changes)


def hooked_direction(weight, *inputs):
    weight.register_hook(torch.nan_to_num)
    return direction(weight, *inputs)


def over_all_rows(weight, tokens, seen, target):
    return direction(weight, tokens, seen, target, safe_length) * seen.sum() / len(seen)


def padding_counts(weight, tokens, seen, target):
    return (
        direction(weight, tokens, seen, target, safe_length)
        + (target[~seen] ** 2).sum() / seen.sum()
    )


RIGHT = {"nan.1": {"log_softmax": of_classes(lambda scores: torch.log_softmax(scores, dim=1))}}
WRONG = {
    "nan.1": {
        "as it was": (of_classes(log_of_softmax), "yours inf … A probability is rounded to 0"),
        "a lower bound": (
            of_classes(lambda scores: torch.softmax(scores, dim=1).clamp_min(1e-12).log()),
            "yours 22.1048, expected 1608.18",
        ),
        "sum": (lambda w, x, t: F.cross_entropy(x @ w, t, reduction="sum"), "That is the sum"),
    },
    "nan.2": {
        "as it was": (direction, "yours nan … infinity or NaN"),
        "nan_to_num on the value": (directed(tidy=torch.nan_to_num), "nan_to_num replaces NaN"),
        "a hook with nan_to_num": (hooked_direction, "a hook replaces"),
        "an eps beside the length": (
            directed(length=lambda v, seen: v.norm(dim=1, keepdim=True) + 1e-9),
            "A small number that is added",
        ),
        "detached length": (
            directed(length=lambda v, seen: safe_length(v, seen).detach()),
            "detach keeps the value and cuts the gradient",
        ),
        "mean over all rows": (over_all_rows, "That is the mean over all rows"),
        "padding counts": (padding_counts, "The padded rows count, too"),
        "not divided": (
            directed(length=lambda v, seen: torch.ones_like(v)),
            "The vectors are not divided by their length",
        ),
    },
}
