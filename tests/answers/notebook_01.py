"""Right and wrong answers to the exercises on parameters and leaves."""

import torch
from torch import nn

# ---- 01.1: two parameters and a buffer


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


class NothingInInit(Line):
    def __init__(self):
        pass


class TwoNumbersEach(Line):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight, self.bias = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))
        self.register_buffer("scale", torch.ones(1))


class NoForward(nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.weight, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
        self.register_buffer("scale", torch.ones(1))


class BiasNotScaled(Line):
    def forward(self, x):
        return self.weight * x * self.scale + self.bias


class BiasFrozen(Line):
    def __init__(self):
        super().__init__()
        self.bias.requires_grad_(False)


class GraphCut(Line):
    def forward(self, x):
        return super().forward(x).detach()


class BiasCut(Line):
    def forward(self, x):
        return (self.weight * x + self.bias.detach()) * self.scale


# ---- 01.2: the gradient in the middle


def through_x(x):
    (x.exp() ** 2).sum().backward()
    return x.grad


def without_retain_grad(x):
    y = x.exp()
    (y**2).sum().backward()
    return y.grad  # torch warns here, and the check says the same: it would be said twice


def retained_after_backward(x):
    y = x.exp()
    (y**2).sum().backward()
    y.retain_grad()
    return y.grad


def without_return(x):
    y = x.exp()
    y.retain_grad()
    (y**2).sum().backward()
    y.grad  # noqa: B018


def tuple_of_grads(x):
    y = x.exp()
    return torch.autograd.grad((y**2).sum(), y)


def loss_without_square(x):
    y = x.exp()
    return torch.autograd.grad(y.sum(), y)[0]


def no_sum(x):
    y = x.exp()
    return torch.autograd.grad(y**2, y)[0]


# ---- right ones, besides the folded solution


def by_retaining(x):
    y = x.exp()
    y.retain_grad()
    torch.autograd.backward((y**2).sum())
    return y.grad


def by_hook(x):
    y, arrived = x.exp(), []
    y.register_hook(arrived.append)
    (y**2).sum().backward()
    return arrived[0]


def from_a_new_leaf(x):
    y = x.detach().exp().requires_grad_()
    (y**2).sum().backward()
    return y.grad


def by_grad(x, **options):
    y = x.exp()
    return torch.autograd.grad((y**2).sum(), y, **options)[0]


RIGHT = {
    "01.2": {
        "retained": by_retaining,
        "a hook": by_hook,
        "autograd.grad": by_grad,
        "a new leaf": from_a_new_leaf,
        "with a graph": lambda x: by_grad(x, create_graph=True),
        "torch.func": lambda x: torch.func.grad(lambda y: (y**2).sum())(x.exp()),
    }
}

WRONG = {
    "01.1": {
        "not a Module": (lambda: torch.ones(1), "nn.Module"),
        "plain tensors": (PlainTensors, "yours none, expected bias, weight"),
        "scale is a parameter": (ScaleIsAParameter, "parameters: yours bias, scale, weight"),
        "scale is a plain tensor": (ScaleIsAPlainTensor, "buffers: yours none, expected scale"),
        "scale is not saved": (ScaleIsNotSaved, "state_dict: yours lacks scale"),
        "no super().__init__()": (NoSuperInit, "cannot assign parameters before Module.__init__"),
        "nothing in __init__": (NothingInInit, "super().__init__() before anything else"),
        "two numbers each": (TwoNumbersEach, "weight: yours has shape (2,), expected one number"),
        "no forward": (NoForward, "forward is missing"),
        "bias is not scaled": (BiasNotScaled, "at x = [1, -2], entry [0]: yours 2.5, expected 2"),
        "bias frozen": (BiasFrozen, "bias: yours has requires_grad=False"),
        "graph cut": (GraphCut, "something in forward cuts the graph"),
        "bias cut": (BiasCut, "bias.grad: yours None, expected 1.0"),
    },
    "01.2": {
        "the gradient with respect to x": (through_x, "That is the gradient with respect to x"),
        "no retain_grad": (without_retain_grad, "non-leaf … y.retain_grad()"),
        "retain_grad after backward": (
            retained_after_backward,
            "y.grad stays empty … comes before backward",
        ),
        "no return after retain_grad": (without_return, "returned None … end the function"),
        "what backward returns": (
            lambda x: (x.exp() ** 2).sum().backward(),
            "as backward() does: end the function",
        ),
        "a formula": (lambda x: 2 * x.exp(), "a formula of yours"),
        "a formula without a graph": (
            lambda x: 2 * x.detach().exp(),
            "formula of yours: let autograd",
        ),
        "the value of y": (lambda x: x.exp(), "values of y itself"),
        "the tuple": (tuple_of_grads, "yours is tuple … take [0]"),
        "another loss": (loss_without_square, "at x = [0, 1], entry [0]: yours 1, expected 2"),
        "no sum": (
            no_sum,
            "raised RuntimeError in … `return torch.autograd.grad(y**2, y)[0]`: grad can be impl",
        ),
        "called instead of handed over": (None, "needs the function itself, got NoneType"),
    },
}
