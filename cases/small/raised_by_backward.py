"""backward() raises an error."""

import torch
from torch import nn

from cases.case import Visit, case
from cases.small.functions import Square, SquareOnce  # noqa: F401  (a cure needs one)


@case("nothing requires grad", "error", ("no-history", "not-connected"), also=("frozen",))
def nothing_requires_grad():
    x = torch.ones(3)  #! torch.ones(3, requires_grad=True)
    loss = (x * 2).sum()
    return Visit(loss, {"x": x})


@case("backward of a vector", "error", ("vector-loss", "vector-backward"))
def loss_is_a_vector():
    x = torch.ones(3, requires_grad=True)
    loss = x * 2  #! (x * 2).sum()
    return Visit(loss, {"x": x})


@case("`x // 2` has no derivative", "error", "no-derivative")
def floor_division():
    x = torch.tensor([3.0, 5.0], requires_grad=True)
    halves = x // 2  #! x / 2
    loss = halves.sum()
    return Visit(loss, {"x": x})


@case("backward twice through one graph", "error", "second-backward")
def backward_twice():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (weight**2).sum()
    loss.backward()  #! loss.backward(retain_graph=True)
    return Visit(loss, {"weight": weight})


@case("a saved value is changed in place", "error", "overwritten")
def saved_value_overwritten():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    y = torch.sigmoid(x)
    y += 1  #! y = y + 1
    loss = y.sum()
    return Visit(loss, {"x": x})


@case("`optimizer.step()` before backward", "error", "overwritten")
def step_before_backward():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    score = model(torch.ones(1, 2))
    first, second = score.sum(), (score**2).sum()
    first.backward(retain_graph=True)
    optimizer.step()  #! score = model(torch.ones(1, 2))
    return Visit(second, {"0.weight": model[0].weight}, model=model)


@case("a Function returns too few gradients", "error", "gradient-count")
def too_few_gradients():
    class ScaleForgetsFactor(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * ctx.factor  #: grad_output * ctx.factor, None

    x = torch.ones(3, requires_grad=True)
    loss = ScaleForgetsFactor.apply(x, 2.0).sum()  #!
    return Visit(loss, {"x": x})


@case("a Function returns a wrong shape", "error", "gradient-shape")
def gradient_of_wrong_shape():
    class ProductTransposed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return x @ weight

        @staticmethod
        def backward(ctx, grad_output):
            x, weight = ctx.saved_tensors
            return grad_output @ weight.T, grad_output.T @ x  #: -
            #: return grad_output @ weight.T, x.T @ grad_output

    x = torch.ones(4, 3, requires_grad=True)
    weight = torch.ones(3, 2, requires_grad=True)
    loss = ProductTransposed.apply(x, weight).sum()  #!
    return Visit(loss, {"weight": weight})


@case("`once_differentiable`, differentiated twice", "error", "once-differentiable")
def differentiated_twice():
    x = torch.ones(3, requires_grad=True)
    y = (SquareOnce.apply(x) ** 2).sum()  #! (Square.apply(x) ** 2).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    loss = (slope**2).sum()
    return Visit(loss, {"x": x})
