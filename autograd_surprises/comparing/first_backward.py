"""The first training step of a script, caught when its backward is about to begin."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils._pytree import tree_map

from autograd_surprises.doctor.interception import Interception
from autograd_surprises.graph import leaf_of, reachable
from autograd_surprises.recording.patches import Patches
from autograd_surprises.recording.stack import tensors_in
from autograd_surprises.several_processes import why_not_alone


@dataclass
class ModelCall:
    """A call of a module that is no part of another module's call.

    given     copies of what it was called with: (arguments, keyword arguments)
    autocast  the kinds of devices with autocast, and its dtype there
    result    what it returned
    """

    module: nn.Module
    given: tuple
    autocast: dict[str, torch.dtype]
    result: object

    def gradients(self, roots: Sequence[torch.Tensor], weights) -> list[torch.Tensor | None]:
        """The gradient that arrives at each tensor of its result.

        Raises ValueError if none is found in it.
        """
        results = [tensor for tensor in tensors_in(self.result) if tensor.requires_grad]
        if not results:
            raise ValueError(
                f"{type(self.module).__name__} returned {type(self.result).__name__}, in which no "
                "tensor was found: only tensors, lists, tuples and dicts can be read"
            )
        weights = None if weights is None else [weights]
        found = torch.autograd.grad(roots, results, weights, retain_graph=True, allow_unused=True)
        return [None if gradient is None else gradient.detach() for gradient in found]

    def again(self, module: nn.Module, gradients: Sequence[torch.Tensor | None]) -> torch.Tensor:
        """A loss whose gradient at the result of this call is the given one."""
        args, kwargs = tree_map(_copy, self.given)
        with ExitStack() as contexts:
            for device, dtype in self.autocast.items():
                contexts.enter_context(torch.autocast(device, dtype))
            results = [t for t in tensors_in(module(*args, **kwargs)) if t.requires_grad]
        pairs = zip(results, gradients, strict=True)
        return sum((result * gradient).sum() for result, gradient in pairs if gradient is not None)


class FirstBackward(Interception):
    """A context that acts on the first backward whose loss reaches parameters of a module.

    act() of a subclass is called just before it, and raises TypeError or ValueError if the step
    cannot be examined. Then the script ends, with SystemExit.

    trouble  why that came to nothing; "" if it did not

    >>> from contextlib import suppress
    >>> class Names(FirstBackward):
    ...     def act(self, roots, weights, call, frame): print(type(call.module).__name__)
    >>> with suppress(SystemExit), Names():
    ...     nn.Linear(2, 1)(torch.ones(2)).sum().backward()
    Linear
    """

    def act(self, roots: Sequence[torch.Tensor], weights, call: ModelCall, frame) -> None:
        """The backward of these is about to begin; `call` is that of the largest module in it."""

    def __enter__(self):
        self.trouble = "nothing called backward() of a loss that reaches a module which was called"
        self._calls: dict[int, ModelCall] = {}  # the last one of each module
        self._inside = False
        super().__enter__()
        self._undo.enter_context(Patches((nn.Module, "__call__", self._noting_calls)))
        return self

    def before_backward(self, roots, weights, inputs, frame):
        nodes = list(reachable(root.grad_fn for root in roots))
        leaves = [leaf for leaf in map(leaf_of, nodes) if leaf is not None]
        call = self._largest({id(leaf) for leaf in leaves})
        if call is None:
            return
        try:
            harm = why_not_alone(nodes)
            if harm:
                raise ValueError(f"a backward of its own is needed, but {harm}")
            self._inside = True  # what is called from here on is no step of the script
            with torch._C._EnableTorchFunction():
                self.act(roots, weights, call, frame)
            self.trouble = ""
        except Exception as error:  # the script might catch it and go on
            expected = isinstance(error, (TypeError, ValueError))
            self.trouble = str(error) if expected else f"{type(error).__name__}: {error}"
        raise SystemExit

    def troubled(self, error):
        self.trouble = f"{type(error).__name__}: {error}"

    def _largest(self, leaves):
        """The last call of the module that has most of the numbers in these leaves."""

        def count(call):
            parameters = call.module.parameters()
            return sum(p.numel() for p in parameters if id(p) in leaves)

        call = max(self._calls.values(), key=count, default=None)
        return call if call is not None and count(call) else None

    def _noting_calls(self, original, active):
        def call(module, *args, **kwargs):
            if not active:
                return original(module, *args, **kwargs)
            is_another = self._inside or self._busy or threading.get_ident() != self._thread
            if is_another or not torch.is_grad_enabled():
                return original(module, *args, **kwargs)
            with torch._C.DisableTorchFunction():
                given = tree_map(_copy, (args, kwargs))
            autocast = {
                device: torch.get_autocast_dtype(device)
                for device in ("cpu", "cuda")
                if torch.is_autocast_enabled(device)
            }
            self._inside = True
            try:
                result = original(module, *args, **kwargs)
            finally:
                self._inside = False
            self._calls[id(module)] = ModelCall(module, given, autocast, result)
            return result

        return call


def _copy(value):
    """A tensor without history, for no other's changes to reach it; anything else as it is."""
    if not isinstance(value, torch.Tensor) or isinstance(value, nn.Parameter):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)
