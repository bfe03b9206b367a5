"""Makes a Function work under every transform of torch, at little cost: apply_anywhere."""

from collections.abc import Callable

import torch
from torch._C._functorch import unwrap_if_dead
from torch.autograd import Function, forward_ad

from helpers.functions.checks import floating


def apply_anywhere(function: type[Function], *inputs: object, proxy: Callable) -> torch.Tensor:
    """function.apply(*inputs), or the same without a Function, where torch cannot use one.

    `proxy` takes the same inputs. It is a plain function whose gradient, by autograd, is what
    `function.backward` returns: for a straight-through estimator, the identity. Where torch
    compiles or differentiates forwards, the result has the value of `function.forward` and the
    gradient of the proxy.

    >>> from helpers.functions.rounding import RoundSTE
    >>> apply_anywhere(RoundSTE, torch.tensor([0.4, 0.6]), proxy=identity)
    tensor([0., 1.])
    """
    # torch.compile refuses a Function with a jvp, and inside torch.func.grad it loses the backward
    # of every Function (torch 2.13). Forward mode needs a jvp, and nested forward mode uses it
    # wrongly. So no Function here has one.
    # https://github.com/pytorch/pytorch/issues/193279 and 197867
    forward_mode = forward_ad._current_level >= 0  # inside torch.func.jvp, too
    if torch.compiler.is_compiling() or forward_mode:
        constants = [x.detach() if isinstance(x, torch.Tensor) else x for x in inputs]
        return value_with_gradient_of(function.forward(*constants), proxy(*inputs))
    if torch._C._are_functorch_transforms_active():
        return function.apply(*inputs)
    # What `apply` does without a transform, except that torch up to 2.13 looks up the signature of
    # forward first, which takes 10 µs: for 1,000 numbers, twice as long as everything else.
    inputs = [unwrap_if_dead(x) if isinstance(x, torch.Tensor) else x for x in inputs]
    return super(Function, function).apply(*inputs)


def identity(x: torch.Tensor, *parameters) -> torch.Tensor:
    """x: the proxy of every straight-through estimator.

    >>> identity(torch.tensor(0.5), "ignored")
    tensor(0.5000)
    """
    return x


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
    # inf − inf is NaN, and −0 + 0 is 0. So write the value again, into the same memory, unseen by
    # autograd:
    y.detach().copy_(value.detach())
    return y
