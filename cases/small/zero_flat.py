"""The gradient is zero, partly zero or tiny: the function is flat where the values are."""

import torch
from torch import nn

from cases.case import Visit, case


@case("`round()` is a staircase", "zero", "staircase")
def rounding():
    x = torch.tensor([0.2, 1.7, 2.6], requires_grad=True)
    y = x.round()  #! x + (x.round() - x).detach()
    loss = (y**2).sum()
    return Visit(loss, {"x": x})


@case("`sign()` is a staircase", "zero", "staircase")
def sign():
    x = torch.tensor([-0.5, 0.3], requires_grad=True)
    y = x.sign()  #! torch.tanh(x)
    loss = (y * 3).sum()
    return Visit(loss, {"x": x})


@case("`clamp()` with every value out of range", "zero", "outside-range")
def clamp():
    x = torch.tensor([1.5, 2.0, -3.0], requires_grad=True)
    y = x.clamp(0, 1)  #! torch.sigmoid(x)
    loss = (y**2).sum()
    return Visit(loss, {"x": x})


@case("`clamp()` with some values out of range", "partial", "outside-range")
def clamp_some():
    x = torch.tensor([0.5, 2.0, -3.0], requires_grad=True)
    y = x.clamp(0, 1)  #! torch.sigmoid(x)
    loss = (y * 3).sum()
    return Visit(loss, {"x": x})


@case("a dead ReLU: every input is negative", "zero", "dead-relu")
def dead_relu():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))  #! -
    #: model = nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(), nn.Linear(4, 1))
    nn.init.constant_(model[0].bias, -10.0)
    loss = (model(torch.rand(5, 3)) - 1).pow(2).mean()  #!
    return Visit(loss, {"0.weight": model[0].weight}, model=model)


@case("a saturated sigmoid", "zero", "saturated")
def saturated_sigmoid():
    x = torch.tensor([200.0, -200.0], requires_grad=True)
    probability = torch.sigmoid(x)  #! -
    #: loss = nn.functional.binary_cross_entropy_with_logits(x, torch.tensor([0.5, 0.5]))
    loss = ((probability - 0.5) ** 2).sum()  #: -
    return Visit(loss, {"x": x})


@case("a saturated tanh", "zero", "saturated")
def saturated_tanh():
    x = torch.tensor([30.0, -40.0], requires_grad=True)
    loss = torch.tanh(x).sum()  #! torch.tanh(x / 30).sum()
    return Visit(loss, {"x": x})


@case("started where the slope is 0", "zero", "stationary")
def square_at_zero():
    x = torch.zeros(2, requires_grad=True)  #: torch.full((2,), 0.1, requires_grad=True)
    loss = (x**2).sum()  #!
    return Visit(loss, {"x": x})


@case("`std()` of equal values", "zero", "stationary")
def std_of_equal_values():
    x = torch.tensor([2.0, 2.0, 2.0], requires_grad=True)  #: -
    #: x = torch.tensor([2.0, 2.0, 2.1], requires_grad=True)
    loss = x.std()  #!
    return Visit(loss, {"x": x})
