"""The gradient is zero or partly zero: it is multiplied by zero, cancelled, or sent elsewhere."""

import torch
import torch.nn.functional as F
from torch import nn

from cases.case import Visit, case


@case("softmax over a dimension of size 1", "zero", "softmax-of-one")
def softmax_of_one():
    model = nn.Linear(3, 1)
    probability = torch.softmax(model(torch.rand(5, 3)), dim=1)  #! -
    #: probability = torch.sigmoid(model(torch.rand(5, 3)))
    loss = ((probability - 0.3) ** 2).mean()
    return Visit(loss, {"weight": model.weight}, model=model)


@case("the sum of a softmax as the loss", "zero", "constant-sum")
def sum_of_softmax():
    scores = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    probability = torch.softmax(scores, 0)  #! -
    loss = probability.sum()  #: F.cross_entropy(scores[None], torch.tensor([0]))
    return Visit(loss, {"scores": scores})


@case("the sum of a layer norm as the loss", "zero", "normalised")
def sum_of_layer_norm():
    x = torch.tensor([[1.0, 2.0, 4.0, 8.0]], requires_grad=True)
    y = F.layer_norm(x, (4,))  #!
    loss = y.sum()  #: (y - torch.arange(4.0)).pow(2).sum()
    return Visit(loss, {"x": x})


@case("a layer initialised with zeros", "zero", "zero-factor")
def zero_initialised():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    nn.init.zeros_(model[1].weight)  #! nn.init.normal_(model[1].weight)
    loss = (model(torch.ones(4, 2)) - 1).pow(2).mean()
    return Visit(loss, {"0.weight": model[0].weight}, model=model)


@case("a mask of zeros", "zero", "zero-factor")
def zero_mask():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    mask = (torch.tensor([1, 2]) > 5).float()  #: (torch.tensor([1, 2]) > 0).float()
    loss = (x * mask).sum()  #!
    return Visit(loss, {"x": x})


@case("dropout drops everything", "zero", ("dropout", "zero-factor"))
def dropout_of_everything():
    x = torch.ones(4, requires_grad=True)  #: torch.ones(100, requires_grad=True)
    loss = F.dropout(x, p=1.0).sum()  #! F.dropout(x, p=0.5).sum()
    return Visit(loss, {"x": x})


@case("contributions that cancel", "zero", "cancel")
def cancelling_terms():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = ((x * 2) - (x + x)).sum()  #! ((x * 3) - (x + x)).sum()
    return Visit(loss, {"x": x})


@case("a forgotten hook returns zeros", "zero", "hook")
def zeroing_hook():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda grad: grad * 0)  #! x.register_hook(lambda grad: grad.clamp(-1, 1))
    loss = (x * 3).sum()
    return Visit(loss, {"x": x})


@case("`max()`: only the winner gets a gradient", "partial", "not-picked")
def max_picks_one():
    x = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    loss = x.max(dim=0).values * 2  #! torch.logsumexp(x, 0) * 2
    return Visit(loss, {"x": x})


@case("a Function whose backward returns zeros", "zero", "own-backward")
def backward_returns_zeros():
    class DoubleReturnsZeros(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad_output):
            return torch.zeros_like(grad_output)  #: grad_output * 2

    weight = torch.ones(3, requires_grad=True)
    loss = DoubleReturnsZeros.apply(weight * 3).sum()  #!
    return Visit(loss, {"weight": weight})


@case("float16 without a scaled loss", "zero", "underflow")
def float16_unscaled():
    x = torch.ones(3, requires_grad=True)
    scores = x.half() * 1e-3
    loss = scores.float().sum() * 1e-6  #! 65536 * (scores.float().sum() * 1e-6)
    return Visit(loss, {"x": x})
