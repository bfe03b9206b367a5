"""Wrong answers to the bug hunts: what is broken, and what only looks repaired."""

import torch
from torch import nn
from torch.autograd import Function


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


class Bumps(nn.Module):
    def __init__(self):
        super().__init__()
        self.heights = nn.ParameterList([torch.tensor(1.0), torch.tensor(-0.5)])
        self.centers = nn.Parameter(torch.tensor([-1.0, 2.0]))

    def forward(self, x):
        bumps = torch.exp(-((x - self.centers) ** 2))
        return bumps[:, :1] * self.heights[0] + bumps[:, 1:] * self.heights[1]

    def loss(self, x, target):
        return ((self(x).squeeze(1) - target) ** 2).mean()


class InAList(Bumps):
    def __init__(self):
        super().__init__()
        heights = list(self.heights)
        del self.heights
        self.heights = heights


class InAListAndListed(InAList):
    def parameters(self, recurse=True):
        return iter([*super().parameters(recurse), *self.heights])


class PlainTensors(Bumps):
    def __init__(self):
        super().__init__()
        del self.heights
        self.heights = torch.tensor([1.0, -0.5], requires_grad=True)


class Broadcasts(Bumps):
    def loss(self, x, target):
        return ((self(x) - target) ** 2).mean()


class SqueezedForward(Bumps):
    def forward(self, x):
        return super().forward(x).squeeze(1)

    def loss(self, x, target):
        return ((self(x) - target) ** 2).mean()


class Summed(Bumps):
    def loss(self, x, target):
        return ((self(x).squeeze(1) - target) ** 2).sum()


class SummedBroadcasts(Bumps):
    def loss(self, x, target):
        return ((self(x) - target) ** 2).sum()


class Random(Bumps):
    def __init__(self):
        super().__init__()
        self.heights = nn.ParameterList([torch.tensor(3.0), torch.tensor(-0.5)])


class Frozen(Bumps):
    def __init__(self):
        super().__init__()
        self.centers.requires_grad_(False)


class Buffers(Bumps):
    def __init__(self):
        super().__init__()
        del self.centers
        self.register_buffer("centers", torch.tensor([-1.0, 2.0]))


class Copies(Bumps):
    """Registered, and computed with copies."""

    def __init__(self):
        super().__init__()
        self.copies = [height.detach() for height in self.heights]

    def forward(self, x):
        bumps = torch.exp(-((x - self.centers) ** 2))
        return bumps[:, :1] * self.copies[0] + bumps[:, 1:] * self.copies[1]


class DataHeights(Bumps):
    def forward(self, x):
        bumps = torch.exp(-((x - self.centers) ** 2))
        return bumps[:, :1] * self.heights[0].data + bumps[:, 1:] * self.heights[1].data


class Hooked(Bumps):
    def __init__(self):
        super().__init__()
        self.centers.register_hook(lambda gradient: gradient / 6)


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
    "08.3": {
        "still in a list": (InAList, "registered parameters: yours 2 numbers"),
        "in a list, and parameters() written": (InAListAndListed, "leave parameters() alone"),
        "plain tensors": (PlainTensors, "yours 2 numbers, expected 4 … not nn.Parameters"),
        "still broadcasts": (Broadcasts, "That is the mean over 6 × 6"),
        "still broadcasts, summed": (SummedBroadcasts, "That is the sum over 6 × 6"),
        "forward squeezed": (SqueezedForward, "The bug is in loss"),
        "sum": (Summed, "That is the sum, expected the mean"),
        "other start": (Random, "parameters at first: yours"),
        "frozen": (Frozen, "centers: yours has requires_grad=False"),
        "buffers": (Buffers, "Not registered … buffers"),
        "computes with copies": (Copies, "forward uses a copy of it"),
        "heights by .data": (DataHeights, ".data keeps the value and cuts the gradient"),
        "a hook": (Hooked, "a hook replaces"),
        "an object": (Bumps(), "needs the class, got an object"),
    },
}
