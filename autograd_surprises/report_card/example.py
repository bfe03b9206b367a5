"""A function and its example inputs: to call it, to differentiate it, and as vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch._ops import OpOverload, OpOverloadPacket


@dataclass(frozen=True, eq=False)
class Example:
    """fn and its inputs; `chosen` are the places of those to differentiate.

    `like`, if there is one, is a function of the same inputs that has the gradient which fn should
    have. Methods that call fn take another function in its place.

    >>> Example(torch.exp, (torch.zeros(1),)).gradients([torch.zeros(1)], torch.ones(1))
    (tensor([1.]),)
    """

    fn: Callable
    inputs: tuple
    like: Callable | None = None
    chosen: tuple[int, ...] = (0,)

    @property
    def name(self) -> str:
        owner = getattr(self.fn, "__self__", None)
        if name := operator_name(self.fn):
            return name
        if isinstance(owner, type):
            return f"{owner.__name__}.apply"
        name = getattr(self.fn, "__name__", type(self.fn).__name__)
        return "the function" if name == "<lambda>" else name

    @property
    def given(self) -> list[torch.Tensor]:
        """Copies of the chosen inputs."""
        return [self.inputs[place].detach().clone() for place in self.chosen]

    @property
    def dtype(self) -> torch.dtype:
        return self.inputs[self.chosen[0]].dtype

    @property
    def device(self) -> torch.device:
        return self.inputs[self.chosen[0]].device

    def call(self, tensors, function: Callable | None = None) -> torch.Tensor:
        """fn of copies of these tensors, because it may write into them; in their dtype.

        Which dtype fn itself returns is a question of its own; see there.
        """
        y = self.apply([tensor.clone() for tensor in tensors], function)
        real = isinstance(y, torch.Tensor) and y.is_floating_point()
        return y.to(tensors[0].dtype) if real else y

    def apply(self, tensors, function: Callable | None = None, dtype=None) -> torch.Tensor:
        """fn of these tensors themselves."""
        return (function or self.fn)(*self.arguments(tensors, dtype))

    def arguments(self, tensors, dtype: torch.dtype | None = None) -> list:
        """These tensors among copies of the other inputs, which get their dtype or this one."""
        arguments = [self._beside(other, dtype or tensors[0].dtype) for other in self.inputs]
        for place, tensor in zip(self.chosen, tensors, strict=True):
            arguments[place] = tensor
        return arguments

    def _beside(self, other, dtype):
        if not isinstance(other, torch.Tensor):
            return other
        return other.detach().to(dtype if other.dtype == self.dtype else other.dtype, copy=True)

    def run(self, tensors, function: Callable | None = None):
        """The output, and the leaves that it can be differentiated by."""
        leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
        return self.call(leaves, function), leaves

    def gradients(self, tensors, upstream=None, function: Callable | None = None):
        """One gradient per tensor, zeros for none; upstream is a tensor, or makes one of y."""
        y, leaves = self.run(tensors, function)
        if not isinstance(upstream, torch.Tensor):
            upstream = (upstream or pattern)(y)
        return torch.autograd.grad(y, leaves, upstream.clone(), materialize_grads=True)

    def value_on(self, x: torch.Tensor, function: Callable | None = None) -> torch.Tensor:
        """fn(x) in float64, for an elementwise fn and float64 numbers x."""
        return self.call([x.to(self.device)], function).detach().double().cpu()

    def gradient_on(self, x: torch.Tensor, function: Callable | None = None) -> torch.Tensor:
        """The gradient of an elementwise fn at the numbers x, for an upstream gradient of 1."""
        x = x.to(self.device)
        return self.gradients([x], torch.ones_like(x), function)[0].cpu()


def operator_name(function: Callable) -> str:
    """mylib::square, if the function is that operator of torch.library; "" if it is none.

    >>> operator_name(torch.ops.aten.relu), operator_name(torch.relu)
    ('aten::relu', '')
    """
    function = getattr(function, "_opoverload", function)  # of what torch.library.custom_op returns
    if isinstance(function, OpOverload):
        return function.name()
    return function._qualified_op_name if isinstance(function, OpOverloadPacket) else ""


def flat(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """All numbers of these tensors as one vector."""
    return torch.cat([tensor.flatten() for tensor in tensors])


def shaped(vector: torch.Tensor, like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The way back: the numbers of a vector, in the shapes of these tensors.

    >>> shaped(torch.arange(3), [torch.zeros(2), torch.ones(1, 1)])
    [tensor([0, 1]), tensor([[2]])]
    """
    parts = vector.split([tensor.numel() for tensor in like])
    return [part.reshape(tensor.shape) for part, tensor in zip(parts, like, strict=True)]


def pattern(tensor: torch.Tensor) -> torch.Tensor:
    """An upstream gradient that hides nothing: both signs, no symmetry, no 0 and no 1.

    >>> pattern(torch.zeros(3))
    tensor([-2.2500,  1.2500, -0.7500])
    """
    numbers = (torch.arange(tensor.numel(), device=tensor.device) * 7 % 11 - 4.5) / 2
    return numbers.to(tensor.dtype).reshape(tensor.shape)
