"""Wrong answers on an error of backward, and on a module with two bugs."""

import torch
from torch import nn


def shares_loss(divide):
    return lambda w, x, t: ((divide(torch.exp(x @ w)) - t) ** 2).mean()


def in_place(e):
    e /= e.sum(dim=1, keepdim=True)
    return e


def behind_autograds_back(e):
    e.data /= e.data.sum(dim=1, keepdim=True)
    return e


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


class Random(Bumps):
    def __init__(self):
        super().__init__()
        self.heights = nn.ParameterList([torch.tensor(3.0), torch.tensor(-0.5)])


class DataHeights(Bumps):
    def forward(self, x):
        bumps = torch.exp(-((x - self.centers) ** 2))
        return bumps[:, :1] * self.heights[0].data + bumps[:, 1:] * self.heights[1].data


RIGHT = {
    "errors_and_wrong_numbers.1": {
        "divided": shares_loss(lambda e: e / e.sum(dim=1, keepdim=True)),
        "softmax": lambda w, x, t: ((torch.softmax(x @ w, dim=1) - t) ** 2).mean(),
    }
}
WRONG = {
    "errors_and_wrong_numbers.1": {
        "as it was": (shares_loss(in_place), "modified by an inplace operation"),
        "through .data": (
            shares_loss(behind_autograds_back),
            "Finite differences say otherwise. .data keeps the value and cuts the gradient",
        ),
        "over the samples": (
            shares_loss(lambda e: e / e.sum(dim=0, keepdim=True)),
            "add up to 1 over the samples",
        ),
        "not divided": (shares_loss(lambda e: e), "not divided by their sum"),
        "sum": (
            lambda w, x, t: ((torch.softmax(x @ w, dim=1) - t) ** 2).sum(),
            "That is the sum, expected the mean",
        ),
    },
    "errors_and_wrong_numbers.2": {
        "still in a list": (InAList, "registered parameters: yours 2 numbers"),
        "plain tensors": (PlainTensors, "yours 2 numbers, expected 4 … not nn.Parameters"),
        "still broadcasts": (Broadcasts, "That is the mean over 6 × 6"),
        "forward squeezed": (SqueezedForward, "The bug is in loss"),
        "sum": (Summed, "That is the sum, expected the mean"),
        "other start": (Random, "parameters at first: yours"),
        "heights by .data": (DataHeights, ".data keeps the value and cuts the gradient"),
    },
}
