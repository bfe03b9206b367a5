"""`.grad` is None: an operation without a derivative, or a gradient that nobody handed on."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from cases.case import CUT, Visit, case
from cases.small.functions import Square, SquareOnce  # noqa: F401  (a cure needs one)


@case("`argmax` inside the loss", "none", "integer", missed_alone=CUT)
def argmax():
    scores = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    loss = (scores.argmax().float() - 2.0) ** 2 + bias.sum()  #! -
    #: loss = ((scores.softmax(0) * torch.arange(3.0)).sum() - 2.0) ** 2
    return Visit(loss, {"scores": scores})


@case("`.long()` in the forward pass", "none", "integer", missed_alone=CUT)
def long():
    weight = torch.tensor([1.2, 2.7], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    loss = (weight.long() * 2.0 + bias).sum()  #! (weight * 2.0 + bias).sum()
    return Visit(loss, {"weight": weight})


@case("the indices of `topk` used as numbers", "none", "integer", missed_alone=CUT)
def topk_indices():
    scores = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)  #: -
    values, indices = scores.topk(2)  #!
    loss = indices.float().sum() + bias.sum()  #: -
    return Visit(loss, {"scores": scores})  #: Visit(values.sum(), {"scores": scores})


@case("`histc`, which has no derivative", "none", "no-derivative", missed_alone=CUT)
def histogram():
    points = torch.tensor([0.1, 0.4, 0.9], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    counts = torch.histc(points, bins=2, min=0, max=1)  #! -
    #: counts = torch.sigmoid((0.5 - points) * 10).sum(0, keepdim=True)
    loss = (counts[0] - 3) ** 2 + bias.sum()
    return Visit(loss, {"points": points})


@case("the tensor only decides an `if`", "none", "branch", missed_alone=CUT)
def if_on_a_value():
    gate = torch.tensor(0.3, requires_grad=True)
    weight = torch.ones(2, requires_grad=True)
    factor = 3
    if gate > 0:  #! if True:
        factor = 2  #: 3 - torch.sigmoid(gate)
    loss = (weight * factor).sum()
    return Visit(loss, {"gate": gate})


@case("a gradient penalty without `create_graph`", "none", "no-create-graph", missed_alone=CUT)
def no_create_graph():
    weight = torch.ones(3, requires_grad=True)
    x = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    (slope,) = torch.autograd.grad((weight * x**2).sum(), x)  #! -
    #: (slope,) = torch.autograd.grad((weight * x**2).sum(), x, create_graph=True)
    loss = (slope**2).sum() + bias.sum()
    return Visit(loss, {"weight": weight})


@case("`once_differentiable` drops a derivative", "none", "constant-gradient", missed_alone=CUT)
def second_derivative_lost():
    x = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    y = SquareOnce.apply(x).sum()  #: Square.apply(x).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)  #!
    loss = (slope**2).sum() + bias.sum()
    return Visit(loss, {"x": x})


@case("a Function whose backward returns None", "none", "returned-none")
def backward_returns_none():
    class DoubleReturnsNone(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad_output):
            grad_output * 2  #: return grad_output * 2

    weight = torch.ones(3, requires_grad=True)
    loss = DoubleReturnsNone.apply(weight * 3).sum()  #!
    return Visit(loss, {"weight": weight})


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x).tanh()


@case(
    "a reentrant checkpoint of an untracked input", "none", "reentrant-checkpoint", missed_alone=CUT
)
def reentrant_checkpoint():
    block = Block()
    bias = torch.zeros(1, requires_grad=True)
    hidden = checkpoint(block, torch.ones(1, 2), use_reentrant=True)  #! -
    #: hidden = checkpoint(block, torch.ones(1, 2), use_reentrant=False)
    loss = (hidden + bias).sum()
    return Visit(loss, {"weight": block.inner.weight})


class Applied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, module, x):
        return module(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output


@case("a Function that is given a module", "none", "inside-function", missed_alone=CUT)
def module_in_a_function():
    block, bias = Block(), torch.zeros(1, requires_grad=True)
    hidden = Applied.apply(block, torch.ones(1, 2))  #! block(torch.ones(1, 2))
    loss = (hidden + bias).sum()
    return Visit(loss, {"weight": block.inner.weight})
