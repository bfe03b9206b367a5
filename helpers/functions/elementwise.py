"""What the operations share: a Function that survives torch.func, and a spelling without one."""

from __future__ import annotations

import inspect

import torch

from helpers.functions.checks import floating


class RemembersSignature(torch.autograd.Function):
    """A Function that is called faster: torch asks for the signature of forward at every call."""

    def __init_subclass__(cls):
        super().__init_subclass__()
        if "forward" in vars(cls):
            cls.forward.__signature__ = inspect.signature(cls.forward)


class Elementwise(RemembersSignature):
    """y[i] depends on x[i] only, and its gradient is a slope times the incoming one. Saves x.

    A subclass has three static methods; `parameters` are numbers or words, without a gradient:

    forward(x, *parameters)         the value
    times_slope(g, x, *parameters)  g times the pretended slope at x
    proxy(x, *parameters)           a function that torch differentiates to this slope

    and `examples`, parameters with which a gallery shows it.
    """

    examples: tuple = ((),)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, *ctx.parameters = inputs
        ctx.save_for_backward(x)

    @classmethod
    def backward(cls, ctx, grad_output):
        grad_x = cls.times_slope(grad_output, *ctx.saved_tensors, *ctx.parameters)
        return grad_x, *[None] * len(ctx.parameters)  # one answer per input of forward

    @classmethod
    def vmap(cls, info, in_dims, x, *parameters):
        return cls.apply(x, *parameters), in_dims[0]  # one dimension more changes nothing

    @staticmethod
    def proxy(x, *parameters):
        raise NotImplementedError(
            "forward mode and torch.compile need a proxy(x, *parameters): "
            "a plain function that torch differentiates to the slope of times_slope"
        )


class StraightThrough(Elementwise):
    """It pretends to be the identity: the gradient passes as it is, and nothing is saved."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, *ctx.parameters = inputs

    @staticmethod
    def times_slope(g, *parameters):
        return g

    @staticmethod
    def proxy(x, *parameters):
        return x


def apply_anywhere(function: type[torch.autograd.Function], *inputs) -> torch.Tensor:
    """function.apply(*inputs), or the same without a Function, where torch cannot use one.

    torch.compile refuses a Function with a jvp, and inside torch.func.grad loses the backward of
    any (torch 2.13); forward mode needs a jvp, and gets it wrong when nested. So none here has one.
    Source: https://github.com/pytorch/pytorch/issues/193279 and 197867.

    >>> from helpers.functions import RoundSTE
    >>> apply_anywhere(RoundSTE, torch.tensor([0.4, 0.6]))
    tensor([0., 1.])
    """
    if not torch.compiler.is_compiling():
        try:
            return function.apply(*inputs)
        except NotImplementedError:  # forward mode asks for a jvp
            pass
    constants = [x.detach() if isinstance(x, torch.Tensor) else x for x in inputs]
    return value_with_gradient_of(function.forward(*constants), function.proxy(*inputs))


def value_with_gradient_of(value: torch.Tensor, proxy: torch.Tensor) -> torch.Tensor:
    """The numbers of one tensor with the autograd graph of another.

    Value `value`, exactly; gradient that of `proxy`, in every mode of differentiation. Both have
    the same shape and floating-point dtype, or TypeError or ValueError is raised. Unlike
    `proxy + (value - proxy).detach()` it neither rounds nor turns infinity into NaN.
    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html

    >>> x = torch.tensor([0.4, 300.0], requires_grad=True)
    >>> torch.autograd.grad(value_with_gradient_of(x.sign(), x.tanh()).sum(), x)
    (tensor([0.8556, 0.0000]),)
    """
    floating(value, "value_with_gradient_of")
    floating(proxy, "value_with_gradient_of")
    if (value.shape, value.dtype) != (proxy.shape, proxy.dtype):
        raise ValueError(
            "value_with_gradient_of needs two tensors of one shape and dtype, got "
            f"{tuple(value.shape)} {value.dtype} and {tuple(proxy.shape)} {proxy.dtype}"
        )
    y = value.detach() + (proxy - proxy.detach())  # a zero with the gradient of proxy
    # inf − inf is NaN, and −0 + 0 is 0. So once more, in the same memory, unseen by autograd:
    y.detach().copy_(value.detach())
    return y


def wide(x: torch.Tensor) -> torch.Tensor:
    """x in float32 or float64: half precision has too few digits."""
    return x.float() if x.dtype.itemsize < 4 else x
