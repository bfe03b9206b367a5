"""Wrong answers to the bug hunts for lost paths: what is cut, and what only looks repaired."""

import torch


def cut(weight, x, target):
    score = torch.zeros(len(x), dtype=x.dtype)
    for k, row in enumerate(x):
        score.data[k] = torch.tanh(row @ weight)
    return ((score - target) ** 2).mean()


def fit(weight, x, target):
    return ((torch.tanh(x @ weight) - target) ** 2).mean()


def copied_into_a_new_tensor(weight, x, target):
    score = torch.tensor([torch.tanh(row @ weight).item() for row in x], dtype=x.dtype)
    return ((score - target) ** 2).mean() + 0 * weight.sum()


def hooked(weight, x, target):
    weight.register_hook(lambda gradient: torch.ones_like(gradient))
    return fit(weight, x, target)


def in_float32(weight, x, target):
    score = torch.zeros(len(x))
    for k, row in enumerate(x):
        score[k] = torch.tanh(row @ weight)
    return ((score - target) ** 2).mean()


def penalized(weight, x, target, largest):
    return ((x @ weight - target) ** 2).mean() + 0.1 * (largest(weight) ** 2).sum()


def penalized_by(largest):
    return lambda *inputs: penalized(*inputs, largest)


def as_numbers(weight):
    return torch.tensor(sorted(weight.tolist())[-2:], dtype=weight.dtype)


def sorted_copies(weight):
    return weight.detach().sort().values[-2:]


RIGHT = {"none.2": {"sorted": penalized_by(lambda weight: weight.sort().values[-2:])}}
WRONG = {
    "none.1": {
        "as it was": (
            lambda weight, x, target: cut(weight, x, target).requires_grad_(),
            "the loss is a leaf … requires_grad_()",
        ),
        "cover taken away, cut left": (cut, "no grad_fn … .data"),
        "new tensor from numbers": (copied_into_a_new_tensor, "A Python number has no gradient"),
        "a hook": (hooked, "a hook replaces"),
        "repaired, and covered": (
            lambda *inputs: fit(*inputs).requires_grad_(),
            "hide the next cut",
        ),
        "repaired in float32": (in_float32, "computed in float32"),
        "sum": (lambda w, x, t: fit(w, x, t) * len(x), "That is the sum, expected the mean"),
        "no tanh": (lambda w, x, t: ((x @ w - t) ** 2).mean(), "The tanh is missing"),
        "forgets to return": (lambda *inputs: None, "returned None"),
    },
    "none.2": {
        "as it was": (penalized_by(as_numbers), "yours 1.5752 … A Python number has no gradient"),
        "detached": (penalized_by(sorted_copies), "detach keeps the value and cuts the gradient"),
        "no penalty": (lambda w, x, t: ((x @ w - t) ** 2).mean(), "The penalty is missing"),
        "all weights": (penalized_by(lambda weight: weight), "That is the penalty on all weights"),
        "largest in size": (
            penalized_by(lambda weight: weight.abs().topk(2).values),
            "the two largest in size",
        ),
    },
}
