"""The names of what a block of code calls."""

import torch
from torch.overrides import TorchFunctionMode

DIFFERENTIATE = (torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad)


class RecordedCalls(TorchFunctionMode):
    """Records the names of what is called, and the dtypes of the tensors that are returned.

    differentiated  whether autograd was asked for gradients

    >>> with RecordedCalls() as calls:
    ...     y = torch.ones(2).detach()
    >>> sorted(calls.called), calls.dtypes
    (['detach', 'ones'], {torch.float32})
    """

    def __init__(self):
        super().__init__()
        self.called, self.dtypes, self.differentiated = set(), set(), False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in ("__get__", "__set__"):  # of an attribute, such as .data
            name = getattr(function.__self__, "__name__", "")
        self.called.add(name)
        self.differentiated |= function in DIFFERENTIATE
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.dtypes.add(result.dtype)
        return result
