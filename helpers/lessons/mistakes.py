"""Mistakes with autograd, each made on purpose, for the index of symptoms and for tests."""

import warnings

import torch
from torch import nn
from torch.autograd import Function, forward_ad
from torch.autograd.function import once_differentiable

from helpers.functions import round_ste


class NoSuper(nn.Module):
    """A Module that assigns before Module.__init__ ran."""

    def __init__(self):
        self.weight = nn.Parameter(torch.ones(1))


class NoSetupContext(Function):
    """The older form, which torch.func refuses."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class NoContext(Function):
    """A forward without ctx, and no setup_context to take it."""

    @staticmethod
    def forward(x):
        return x.round()


class NoBackward(Function):
    """A forward alone."""

    @staticmethod
    def forward(ctx, x):
        return x.round()


class PlainRoundSTE(Function):
    """y = round(x), dL/dx = dL/dy, and nothing about vmap and forward mode."""

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class OneDtype(Function):
    """A matrix product whose backward takes for granted that all is of one dtype."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad_output):
        (weight,) = ctx.saved_tensors
        return grad_output @ weight.T, None


class OnceSquare(Function):
    """x², differentiable once."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


class OneGradientTooFew(Function):
    """Two inputs, one gradient."""

    @staticmethod
    def forward(ctx, x, factor):
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def leaf():
    """A fresh leaf that requires a gradient.

    >>> leaf()
    tensor([1., 2.], requires_grad=True)
    """
    return torch.tensor([1.0, 2.0], requires_grad=True)


def write_into_leaf():
    """Change a leaf in place, recorded."""
    x = leaf()
    x += 1


def replace_parameter():
    """Put a result where a Parameter is registered."""
    model = nn.Linear(2, 1)
    model.weight = model.weight * 2


def overwrite_saved_tensor():
    """Change what backward will need."""
    x = leaf()
    y = OnceSquare.apply(x)
    with torch.no_grad():
        x += 1
    y.sum().backward()


def call_an_object():
    """Make an object of a Function and call it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        OnceSquare()(leaf())


def differentiate_twice():
    """Ask for the second derivative of OnceSquare."""
    x = leaf()
    (slope,) = torch.autograd.grad((OnceSquare.apply(x) ** 2).sum(), x, create_graph=True)
    slope.sum().backward()


def gradcheck_straight_through():
    """Expect a straight-through estimator to be a derivative."""
    x = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(round_ste, x)


def differentiate_forwards():
    """Carry a tangent through a Function that does not say how."""
    with warnings.catch_warnings(), forward_ad.dual_level():
        warnings.simplefilter("ignore")  # torch's own, about a part of itself
        PlainRoundSTE.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))


def mix_dtypes():
    """Go forward under autocast, and backward with what was saved in float32."""
    x = torch.ones(1, 2, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        y = OneDtype.apply(x, torch.ones(2, 2))
    y.sum().backward()


def pass_a_second_time():
    """Walk through one graph twice."""
    loss = (leaf() ** 2).sum()
    loss.backward()
    loss.backward()


def keep_a_graph_in_grad():
    """Let backward itself create a graph."""
    x = leaf()
    (x**2).sum().backward(create_graph=True)
    x.grad = None  # breaks the circle that the warning is about
