"""Wrong answers to the bug hunts for NaN: too late, too early, or beside the point."""

import torch
from torch.autograd import Function
from torch.nn import functional as F


def of_classes(logarithms):
    return lambda w, x, t: -logarithms(x @ w)[torch.arange(len(t)), t].mean()


def log_of_softmax(scores):
    return torch.softmax(scores, dim=1).log()


def shifted_softmax(scores):
    e = (scores - scores.max(dim=1, keepdim=True).values).exp()
    return (e / e.sum(dim=1, keepdim=True)).log()


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


class WithoutNaN(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.nan_to_num()


def replaced_on_the_way(weight, tokens, seen, target):
    vectors = WithoutNaN.apply(tokens @ weight)
    error = ((vectors / plain_length(vectors, seen) - target) ** 2).sum(1)
    return torch.where(seen, error, 0.0).sum() / seen.sum()


def prehooked(weight, tokens, seen, target):
    vectors = tokens @ weight
    vectors.grad_fn.register_prehook(lambda grads: tuple(g.nan_to_num() for g in grads))
    error = ((vectors / plain_length(vectors, seen) - target) ** 2).sum(1)
    return torch.where(seen, error, 0.0).sum() / seen.sum()


def over_all_rows(weight, tokens, seen, target):
    return direction(weight, tokens, seen, target, safe_length) * seen.sum() / len(seen)


def padding_counts(weight, tokens, seen, target):
    return (
        direction(weight, tokens, seen, target, safe_length)
        + (target[~seen] ** 2).sum() / seen.sum()
    )


RIGHT = {
    "10.1": {
        "log_softmax": of_classes(lambda scores: torch.log_softmax(scores, dim=1)),
        "logsumexp": of_classes(lambda scores: scores - scores.logsumexp(dim=1, keepdim=True)),
    }
}
WRONG = {
    "10.1": {
        "as it was": (of_classes(log_of_softmax), "yours inf … A probability is rounded to 0"),
        "shifted, and still divided": (
            of_classes(shifted_softmax),
            "A probability is rounded to 0",
        ),
        "a lower bound": (
            of_classes(lambda scores: torch.softmax(scores, dim=1).clamp_min(1e-12).log()),
            "yours 22.1048, expected 1608.18",
        ),
        "nan_to_num": (
            of_classes(lambda scores: log_of_softmax(scores).nan_to_num(neginf=-1e3)),
            "loss for random weight 2: yours",
        ),
        "sum": (lambda w, x, t: F.cross_entropy(x @ w, t, reduction="sum"), "That is the sum"),
        "log of the mean": (
            lambda w, x, t: -torch.softmax(x @ w, 1)[torch.arange(len(t)), t].mean().log(),
            "the logarithm of the mean",
        ),
        "no minus": (lambda w, x, t: -F.cross_entropy(x @ w, t), "The minus sign is missing"),
    },
    "10.2": {
        "as it was": (direction, "yours nan … infinity or NaN"),
        "a prehook on a node": (prehooked, "no NaN arrives, but PowBackward0"),
        "a Function that replaces NaN": (replaced_on_the_way, "after it replaces it"),
        "nan_to_num on the value": (directed(tidy=torch.nan_to_num), "nan_to_num replaces NaN"),
        "a hook with nan_to_num": (hooked_direction, "a hook replaces"),
        "an eps beside the length": (
            directed(length=lambda v, seen: v.norm(dim=1, keepdim=True) + 1e-9),
            "A small number that is added",
        ),
        "an eps in the root": (
            directed(length=lambda v, seen: (v.pow(2).sum(1, keepdim=True) + 1e-6).sqrt()),
            "loss for random weight 1: yours",
        ),
        "detached length": (
            directed(length=lambda v, seen: safe_length(v, seen).detach()),
            "detach keeps the value and cuts the gradient",
        ),
        "detached loss": (
            lambda *inputs: direction(*inputs, safe_length).detach(),
            "the value is right, but the loss has no grad_fn",
        ),
        "covered": (
            lambda *inputs: direction(*inputs, safe_length).detach().requires_grad_(),
            "the loss is a leaf",
        ),
        "mean over all rows": (over_all_rows, "That is the mean over all rows"),
        "padding counts": (padding_counts, "The padded rows count, too"),
        "not divided": (
            directed(length=lambda v, seen: torch.ones_like(v)),
            "The vectors are not divided by their length",
        ),
    },
}
