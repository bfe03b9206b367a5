"""Wrong answers on dead units, and on a softmax over one number."""

import torch


def revived(weight, bias, inputs, dead=None, to=1.0):
    before = inputs @ weight + bias
    off = (before <= 0).all(dim=0) if dead is None else dead(before)
    return torch.where(off, bias + to - before.max(dim=0).values, bias)


def squared(probability):
    return lambda w, x, t: ((probability(x @ w) - t) ** 2).mean()


RIGHT = {
    "zero.1": {
        "dead if nothing comes out": lambda w, b, x: revived(w, b, x, lambda h: ~(h > 0).any(0))
    },
    "zero.2": {"two scores": squared(lambda s: torch.softmax(torch.stack([0 * s, s]), 0)[1])},
}
WRONG = {
    "zero.1": {
        "as it was": (lambda w, b, x: b, "The dead units are still dead"),
        "every unit": (
            lambda w, b, x: revived(w, b, x, lambda h: torch.ones_like(h[0], dtype=torch.bool)),
            "That resets every unit",
        ),
        "off for some row": (
            lambda w, b, x: revived(w, b, x, lambda h: (h <= 0).any(dim=0)),
            "the units that are off for some row",
        ),
        "a bias of 0": (
            lambda w, b, x: torch.where((x @ w + b <= 0).all(dim=0), 0.0, b),
            "A bias of 0 is a guess",
        ),
    },
    "zero.2": {
        "as it was": (
            squared(lambda s: torch.softmax(s[:, None], dim=1)[:, 0]),
            "A softmax over one number is 1",
        ),
        "over the samples": (
            squared(lambda s: torch.softmax(s, dim=0)),
            "That softmax runs over the samples",
        ),
        "clamp": (squared(lambda s: s.clamp(0, 1)), "A clamp is flat outside [0, 1]"),
        "sum": (
            lambda w, x, t: ((torch.sigmoid(x @ w) - t) ** 2).sum(),
            "That is the sum, expected the mean",
        ),
    },
}
