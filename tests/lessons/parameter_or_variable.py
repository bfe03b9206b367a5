"""Right and wrong answers to the exercises on parameters and leaves."""

import torch
from torch import nn

# ---- parameter_or_variable.1: two parameters and a buffer


class Line(nn.Module):
    """The right answer; each wrong one changes one thing."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(1))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x):
        return (self.weight * x + self.bias) * self.scale


class PlainTensors(Line):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight = torch.ones(1, requires_grad=True)
        self.bias = torch.zeros(1, requires_grad=True)
        self.register_buffer("scale", torch.ones(1))


class ScaleIsAParameter(Line):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
        self.scale = nn.Parameter(torch.ones(1), requires_grad=False)


class ScaleIsAPlainTensor(Line):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
        self.scale = torch.ones(1)


class ScaleIsNotSaved(Line):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(1), persistent=False)


class NoSuperInit(Line):
    def __init__(self):
        self.weight = nn.Parameter(torch.ones(1))


class BiasNotScaled(Line):
    def forward(self, x):
        return self.weight * x * self.scale + self.bias


class GraphCut(Line):
    def forward(self, x):
        return super().forward(x).detach()


class BiasCut(Line):
    def forward(self, x):
        return (self.weight * x + self.bias.detach()) * self.scale


# ---- parameter_or_variable.2: the gradient in the middle


def through_x(x):
    (x.exp() ** 2).sum().backward()
    return x.grad


def without_retain_grad(x):
    y = x.exp()
    (y**2).sum().backward()
    return y.grad  # torch warns here, and the check says the same: it would be said twice


def tuple_of_grads(x):
    y = x.exp()
    return torch.autograd.grad((y**2).sum(), y)


# ---- right ones, besides the folded solution


def by_retaining(x):
    y = x.exp()
    y.retain_grad()
    torch.autograd.backward((y**2).sum())
    return y.grad


def by_grad(x, **options):
    y = x.exp()
    return torch.autograd.grad((y**2).sum(), y, **options)[0]


RIGHT = {"parameter_or_variable.2": {"retained": by_retaining, "autograd.grad": by_grad}}

WRONG = {
    "parameter_or_variable.1": {
        "not a Module": (lambda: torch.ones(1), "nn.Module"),
        "plain tensors": (PlainTensors, "yours none, expected bias, weight"),
        "scale is a parameter": (ScaleIsAParameter, "parameters: yours bias, scale, weight"),
        "scale is a plain tensor": (ScaleIsAPlainTensor, "buffers: yours none, expected scale"),
        "scale is not saved": (ScaleIsNotSaved, "state_dict: yours lacks scale"),
        "no super().__init__()": (NoSuperInit, "cannot assign parameters before Module.__init__"),
        "bias is not scaled": (BiasNotScaled, "at x = [1, -2], entry [0]: yours 2.5, expected 2"),
        "graph cut": (GraphCut, "something in forward cuts the graph"),
        "bias cut": (BiasCut, "bias.grad: yours None, expected 1.0"),
    },
    "parameter_or_variable.2": {
        "the gradient with respect to x": (through_x, "That is the gradient with respect to x"),
        "no retain_grad": (without_retain_grad, "yours is None … y.retain_grad()"),
        "the value of y": (lambda x: x.exp(), "values of y itself"),
        "the tuple": (tuple_of_grads, "yours is tuple … take [0]"),
    },
}
