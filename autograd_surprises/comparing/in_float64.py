"""A step in float64, which measures how large its rounding errors are."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from autograd_surprises.recording.stack import tensors_in


@contextmanager
def in_precision(model: nn.Module, dtype: torch.dtype) -> Iterator[dict[int, nn.Parameter]]:
    """Inside, every floating-point number is computed with this dtype, also under autocast.

    Parameters, buffers and each other tensor are replaced by copies, which a step may write into.
    What torch.compile has compiled runs eagerly. Random numbers are drawn in the dtype in which the
    step asks for them, and so are the same. Yields the copies, by id of the parameter.

    >>> layer, x = nn.Linear(2, 1), torch.ones(2)
    >>> with in_precision(layer, torch.float64): y = layer(x)
    >>> y.dtype, layer.weight.dtype
    (torch.float64, torch.float32)
    """
    usual, copies = torch.get_default_dtype(), _Copies(dtype)
    parameters = {id(p): copies.of_parameter(p) for p in model.parameters()}
    held = [d for part in model.modules() for d in (part._parameters, part._buffers)]
    with ExitStack() as undo:
        undo.callback(torch.set_default_dtype, usual)
        for tensors in held:
            undo.callback(tensors.update, dict(tensors))
            tensors.update((name, copies.of(tensor)) for name, tensor in tensors.items())
        if "torch._dynamo" in sys.modules:  # else nothing can be compiled
            undo.enter_context(torch.compiler.set_stance("force_eager"))
        undo.enter_context(_EachOperation(copies, usual))
        torch.set_default_dtype(dtype)
        yield parameters


class _Copies:
    """One copy in another dtype for each tensor, so that writes into it, and views, are seen."""

    def __init__(self, dtype):
        self.dtype = dtype
        self._made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def of(self, value):
        if id(value) in self._made:
            return self._made[id(value)][1]
        is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
        if not is_float or value.dtype is self.dtype:
            return value
        with torch._C.DisableTorchFunction(), torch.set_grad_enabled(value.requires_grad):
            self._made[id(value)] = value, value.to(self.dtype)
        return self._made[id(value)][1]

    def of_parameter(self, parameter):
        copy = nn.Parameter(parameter.detach().to(self.dtype, copy=True), parameter.requires_grad)
        vars(copy).update(vars(parameter))
        for hook in (parameter._backward_hooks or {}).values():
            copy.register_hook(hook)
        self._made[id(parameter)] = parameter, copy
        return copy

    def of_dtype_too(self, value):
        is_float = isinstance(value, torch.dtype) and value.is_floating_point
        return self.dtype if is_float else self.of(value)


class _EachOperation(TorchDispatchMode):
    """Below autograd and autocast, so it also sees what these compute."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else torch imports its compiler at the first operation, which takes a second

    def __init__(self, copies, usual):
        super().__init__()
        self._copies, self._usual = copies, usual

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(self._copies.of, (args, kwargs or {}))
        if _draws(func, args, kwargs):
            return tree_map(self._copies.of, self._draw(func, args, kwargs))
        args, kwargs = tree_map(self._copies.of_dtype_too, (args, kwargs))
        return func(*args, **kwargs)

    def _draw(self, func, args, kwargs):
        """Random numbers depend on the dtype, so they are drawn in that of the step."""
        if func is torch.ops.aten.native_dropout.default:
            x, chance, _ = args
            _, kept = func(torch.ones_like(x, dtype=self._usual), *args[1:])
            return x * kept / (1 - chance), kept
        if func.overloadpacket in (torch.ops.aten.rand, torch.ops.aten.randn):
            kwargs = {**kwargs, "dtype": kwargs.get("dtype") or self._usual}
        drawn_into = tree_map(self._in_usual, args)
        result = func(*drawn_into, **kwargs)
        if not func._schema.is_mutable:
            return result
        for tensor, drawn in zip(tensors_in(args), tensors_in(drawn_into), strict=True):
            tensor.copy_(drawn)
        return args[0]

    def _in_usual(self, value):
        is_ours = isinstance(value, torch.Tensor) and value.dtype is self._copies.dtype
        return value.to(self._usual) if is_ours else value


def _draws(func, args, kwargs):
    """Does it draw random numbers? Attention without dropout does not."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return False
    names = [argument.name for argument in func._schema.arguments]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    return "dropout_p" not in names or bool(given.get("dropout_p"))
