"""Functions with a backward of their own, for cases in which another line is at fault."""

import torch
from torch.autograd.function import once_differentiable


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
