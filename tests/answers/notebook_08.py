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


def one_row_is_cut(weight, x, target):
    score = torch.tanh(x @ weight)
    score = torch.cat([score[:1].detach(), score[1:]])
    return ((score - target) ** 2).mean()


def connected_to_nothing(weight, x, target):
    other = torch.ones(1, dtype=x.dtype, requires_grad=True).sum() * 0
    return fit(weight.detach(), x, target) + other


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


RIGHT = {
    "08.2": {
        "sorted": penalized_by(lambda weight: weight.sort().values[-2:]),
        "chosen by index": penalized_by(lambda weight: weight[weight.argsort()[-2:]]),
    }
}
WRONG = {
    "08.1": {
        "as it was": (
            lambda weight, x, target: cut(weight, x, target).requires_grad_(),
            "the loss is a leaf … requires_grad_()",
        ),
        "cover taken away, cut left": (cut, "no grad_fn … .data"),
        "cut, and another tensor asks": (connected_to_nothing, "yours None, expected a tensor."),
        "new tensor from numbers": (copied_into_a_new_tensor, "A Python number has no gradient"),
        "one row is cut": (one_row_is_cut, "[0]: yours 0.2553, expected 0.2557"),
        "straight through": (
            lambda weight, x, target: (
                fit(weight, x, target).detach() + weight.sum() - weight.sum().detach()
            ),
            "yours 1, expected",
        ),
        "a hook": (hooked, "a hook replaces"),
        "repaired, and covered": (
            lambda *inputs: fit(*inputs).requires_grad_(),
            "hide the next cut",
        ),
        "repaired in float32": (in_float32, "computed in float32"),
        "weight made to ask": (
            lambda weight, *inputs: fit(weight.requires_grad_(), *inputs),
            "weight that needs no gradient",
        ),
        "sum": (lambda w, x, t: fit(w, x, t) * len(x), "That is the sum, expected the mean"),
        "no tanh": (lambda w, x, t: ((x @ w - t) ** 2).mean(), "The tanh is missing"),
        "shifted": (lambda *inputs: fit(*inputs) + 1e-9, "yours is 1e-09 away from"),
        "forgets to return": (lambda *inputs: None, "returned None"),
        "a vector": (lambda w, x, t: (torch.tanh(x @ w) - t) ** 2, "yours has shape (5,)"),
    },
    "08.2": {
        "as it was": (penalized_by(as_numbers), "yours 1.5752 … A Python number has no gradient"),
        "detached": (penalized_by(sorted_copies), "detach keeps the value and cuts the gradient"),
        "no penalty": (
            lambda w, x, t: ((x @ w - t) ** 2).mean(),
            "The penalty is missing",
        ),
        "all weights": (penalized_by(lambda weight: weight), "That is the penalty on all weights"),
        "largest in size": (
            penalized_by(lambda weight: weight.abs().topk(2).values),
            "the two largest in size",
        ),
        "mean of the squares": (
            penalized_by(lambda weight: weight.topk(2).values / 2**0.5),
            "That is the mean of the two squares",
        ),
        "covered": (
            lambda *inputs: penalized(*inputs, as_numbers).detach().requires_grad_(),
            "the loss is a leaf",
        ),
    },
}
