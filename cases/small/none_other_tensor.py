"""`.grad` is None: the tensor that is asked about is not the one that the loss uses."""

import copy

import torch
from torch import nn

from cases.case import Visit, case


@case("`.grad` of an intermediate result", "none", "not-a-leaf")
def result_not_leaf():
    weight = torch.ones(3, requires_grad=True)
    hidden = weight * 2  #!
    #: hidden.retain_grad()
    loss = hidden.sum()
    return Visit(loss, {"hidden": hidden})


@case("`requires_grad=True`, then converted and scaled", "none", "not-a-leaf")
def scaled_after_requires_grad():
    weight = torch.ones(3, requires_grad=True).to(torch.float64) * 0.1  #! -
    #: weight = (torch.ones(3).to(torch.float64) * 0.1).requires_grad_()
    loss = (weight**2).sum()
    return Visit(loss, {"weight": weight})


@case("`requires_grad` switched off: a frozen layer", "none", "frozen")
def frozen_layer():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    model[0].weight.requires_grad_(False)  #! loss = model(torch.ones(4, 2)).sum()
    loss = model(torch.ones(4, 2)).sum()
    return Visit(loss, {"0.weight": model[0].weight}, model=model)


@case(
    "a layer that forward never calls",
    "none",
    "unused",
    missed_alone="an unused parameter and a cut look alike",
)
def unused_layer():
    class FirstLayer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(2, 1), nn.Linear(2, 1)

        def forward(self, x):
            x = x * 2
            return self.first(x)  #! self.first(x) + self.second(x)

    model = FirstLayer()
    loss = model(torch.ones(4, 2)).sum()
    return Visit(loss, {"second.weight": model.second.weight}, model=model)


@case(
    "computed, but not part of the loss",
    "none",
    "dead-branch",
    missed_alone="the penalty is not in the graph of the loss",
)
def forgotten_penalty():
    weight = torch.ones(3, requires_grad=True)
    regularised = torch.ones(3, requires_grad=True)
    penalty = (regularised**2).sum()  #!  # noqa: F841
    loss = (weight * 2).sum()  #: (weight * 2).sum() + penalty
    return Visit(loss, {"regularised": regularised})


@case(
    "`nn.Parameter(…)` inside forward",
    "none",
    "new-parameter",
    missed_alone="the new parameter could belong to a second model, as in a GAN",
)
def parameter_rewrapped():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            doubled = nn.Parameter(self.weight * 2)  #! self.weight * 2
            return x * doubled

    model = Scale()
    loss = model(torch.ones(3)).sum()
    return Visit(loss, {"weight": model.weight}, model=model)


@case(
    "the loss of a deepcopy of the model",
    "none",
    "deepcopy",
    missed_alone="the copy looks like any other leaf",
)
def deep_copy():
    model = nn.Linear(2, 1)
    copied = copy.deepcopy(model)  #! -
    loss = copied(torch.ones(4, 2)).sum()  #: model(torch.ones(4, 2)).sum()
    return Visit(loss, {"weight": model.weight})
