"""`.grad` is None: an operation without a derivative, or a gradient that nobody handed on."""

import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from cases.case import CUT, Visit, case, cured


@case("`argmax` inside the loss", status="none", cause="integer", missed_alone=CUT)
def argmax():
    scores = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    loss = (scores.argmax().float() - 2.0) ** 2 + bias.sum()  #!
    return Visit(loss, {"scores": scores})


@cured("argmax")
def expected_index():
    scores = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    index = (scores.softmax(0) * torch.arange(3.0)).sum()
    return Visit((index - 2.0) ** 2, {"scores": scores})


@case("`.long()` in the forward pass", status="none", cause="integer", missed_alone=CUT)
def long():
    weight = torch.tensor([1.2, 2.7], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    loss = (weight.long() * 2.0 + bias).sum()  #!
    return Visit(loss, {"weight": weight})


@cured("long")
def floats():
    weight = torch.tensor([1.2, 2.7], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    return Visit((weight * 2.0 + bias).sum(), {"weight": weight})


@case("the indices of `topk` used as numbers", status="none", cause="integer", missed_alone=CUT)
def topk_indices():
    scores = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)  #: -
    values, indices = scores.topk(2)  #!
    loss = indices.float().sum() + bias.sum()  #: -
    return Visit(loss, {"scores": scores})  #: Visit(values.sum(), {"scores": scores})


@case("`histc`, which has no derivative", status="none", cause="no-derivative", missed_alone=CUT)
def histogram():
    points = torch.tensor([0.1, 0.4, 0.9], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    counts = torch.histc(points, bins=2, min=0, max=1)  #!
    loss = (counts[0] - 3) ** 2 + bias.sum()
    return Visit(loss, {"points": points})


@cured("histogram")
def soft_count():
    points = torch.tensor([0.1, 0.4, 0.9], requires_grad=True)
    count = torch.sigmoid((0.5 - points) * 10).sum()
    return Visit((count - 3) ** 2, {"points": points})


@case("the tensor only decides an `if`", status="none", cause="branch", missed_alone=CUT)
def if_on_a_value():
    gate = torch.tensor(0.3, requires_grad=True)
    weight = torch.ones(2, requires_grad=True)
    factor = 3
    if gate > 0:  #!
        factor = 2
    loss = (weight * factor).sum()
    return Visit(loss, {"gate": gate})


@cured("if_on_a_value")
def soft_gate():
    gate = torch.tensor(0.3, requires_grad=True)
    weight = torch.ones(2, requires_grad=True)
    share = torch.sigmoid(gate)
    loss = (share * weight * 2 + (1 - share) * weight * 3).sum()
    return Visit(loss, {"gate": gate})


@case(
    "a gradient penalty without `create_graph`",
    status="none",
    cause="no-create-graph",
    missed_alone=CUT,
)
def no_create_graph():
    weight = torch.ones(3, requires_grad=True)
    x = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    (slope,) = torch.autograd.grad((weight * x**2).sum(), x)  #!
    loss = (slope**2).sum() + bias.sum()
    return Visit(loss, {"weight": weight})


@cured("no_create_graph")
def create_graph():
    weight = torch.ones(3, requires_grad=True)
    x = torch.ones(3, requires_grad=True)
    (slope,) = torch.autograd.grad((weight * x**2).sum(), x, create_graph=True)
    return Visit((slope**2).sum(), {"weight": weight})


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class SquareOnce(Square):
    backward = staticmethod(once_differentiable(Square.backward))


@case(
    "`once_differentiable` drops a derivative",
    status="none",
    cause="constant-gradient",
    missed_alone=CUT,
)
def second_derivative_lost():
    x = torch.ones(3, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)  #: -
    y = SquareOnce.apply(x).sum()  #: Square.apply(x).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)  #!
    loss = (slope**2).sum() + bias.sum()  #: -
    return Visit(loss, {"x": x})  #: Visit((slope**2).sum(), {"x": x})


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


class DoubleReturnsNone(Double):
    @staticmethod
    def backward(ctx, grad_output):
        grad_output * 2  # return is missing


@case("a Function whose backward returns None", status="none", cause="returned-none")
def backward_returns_none():
    weight = torch.ones(3, requires_grad=True)
    loss = DoubleReturnsNone.apply(weight * 3).sum()  #!
    return Visit(loss, {"weight": weight})


@cured("backward_returns_none")
def backward_returns():
    weight = torch.ones(3, requires_grad=True)
    return Visit(Double.apply(weight * 3).sum(), {"weight": weight})


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x).tanh()


@case(
    "a reentrant checkpoint of an untracked input",
    status="none",
    cause="reentrant-checkpoint",
    missed_alone=CUT,
)
def reentrant_checkpoint():
    block = Block()
    bias = torch.zeros(1, requires_grad=True)
    hidden = checkpoint(block, torch.ones(1, 2), use_reentrant=True)  #!
    loss = (hidden + bias).sum()
    return Visit(loss, {"weight": block.inner.weight})


@cured("reentrant_checkpoint")
def checkpoint_not_reentrant():
    block = Block()
    hidden = checkpoint(block, torch.ones(1, 2), use_reentrant=False)
    return Visit(hidden.sum(), {"weight": block.inner.weight})


class Applied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, module, x):
        return module(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output


@case("a Function that is given a module", status="none", cause="inside-function",
         missed_alone=CUT)  # fmt: skip
def module_in_a_function():
    block, bias = Block(), torch.zeros(1, requires_grad=True)
    hidden = Applied.apply(block, torch.ones(1, 2))  #!
    loss = (hidden + bias).sum()
    return Visit(loss, {"weight": block.inner.weight})


@cured("module_in_a_function")
def module_called():
    block = Block()
    return Visit(block(torch.ones(1, 2)).sum(), {"weight": block.inner.weight})
