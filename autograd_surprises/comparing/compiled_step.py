"""Is the gradient of a script's first step the same through torch.compile?"""

import copy
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

import torch
from torch import nn
from torch.utils._pytree import tree_map

from autograd_surprises.comparing.two_steps import DIFFER, Runs, judged
from autograd_surprises.doctor.interception import Interception
from autograd_surprises.facts.graph import leaf_of, name_of, reachable
from autograd_surprises.facts.processes import why_not_alone
from autograd_surprises.recording.patches import Patches
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.recording.stack import tensors_in

COMPILER = "{} changes the gradient; which operation is at fault cannot be told"
CUSTOM = "without compiling {} (torch.compiler.disable), the gradients are the same"


class CompiledRun(Interception):
    """A context that compares the model's part of the first training step; then the script ends.

    The first backward whose loss reaches a module is caught. The largest such module is called
    once more eagerly and once compiled, and gets the gradient of the script's own backward.

    found    the comparison, step a eager and step b compiled; or None, and `trouble` says why
    backend  of torch.compile

    >>> layer, compiled = torch.nn.Linear(2, 1), CompiledRun("eager")
    >>> try:
    ...     with compiled: layer(torch.ones(3, 2)).sum().backward()
    ... except SystemExit: print(compiled.found.status, layer.weight.grad)
    same None
    """

    def __init__(self, backend: str):
        self.backend, self.found = backend, None
        self.trouble = "nothing called backward() of a loss that reaches a module which was called"
        self._calls: dict[int, ModelCall] = {}  # the last one of each module
        self._inside = False

    def __enter__(self):
        super().__enter__()
        self._undo.enter_context(Patches((nn.Module, "__call__", self._noting_calls)))
        return self

    def _noting_calls(self, original, active):
        def call(module, *args, **kwargs):
            another = self._inside or self._busy or threading.get_ident() != self._thread
            if not active or another or not torch.is_grad_enabled():
                return original(module, *args, **kwargs)
            self._inside = True
            try:
                noted = ModelCall(module, args, kwargs)
                noted.result = original(module, *args, **kwargs)
            finally:
                self._inside = False
            self._calls[id(module)] = noted
            return noted.result

        return call

    def before_backward(self, roots, weights, inputs, frame):
        nodes = list(reachable(root.grad_fn for root in roots))
        leaves = {id(leaf_of(node)) for node in nodes}

        def count(call):
            return sum(p.numel() for p in call.module.parameters() if id(p) in leaves)

        call = max(self._calls.values(), key=count, default=None)
        if call is None or not count(call):
            return
        self._inside = True  # what is called from here on is no step of the script
        try:
            if harm := why_not_alone(nodes):
                raise ValueError(f"a backward of its own is needed, but {harm}")
            with torch._C._EnableTorchFunction(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch's compiler has some of its own
                call.keep_gradients(roots, weights)
                self.found = self._compared(call)
        except Exception as error:  # the script might catch it and go on
            self.troubled(error)
        raise SystemExit

    def troubled(self, error):
        expected = isinstance(error, (TypeError, ValueError))
        self.trouble = str(error) if expected else f"{type(error).__name__}: {error}"

    def _compared(self, call):
        compiled = compile_(call.module, self.backend)
        losses = [call.again(each) for each in (call.module, compiled)]
        names = [[*map(name_of, reachable([loss.grad_fn]))] for loss in losses]
        if self.backend != "eager" and names[0] == names[1]:
            raise ValueError(f"torch.compile left {type(call.module).__name__} to eager code")
        found = self._judged(call)
        if found.status != DIFFER or found.cause:
            return found
        with eager_functions() as called:
            repaired = self._judged(call).status != DIFFER
        cause, rows = "compiler", [("cause", COMPILER.format(self.backend))]
        if called and repaired:
            names = " and ".join(own.__name__ for own in called)
            cause, rows = "custom-backward", [("cause", CUSTOM.format(names))]
            rows += [("called", str(where)) for where in called.values()]
        return replace(found, cause=cause, rows=[*rows, *found.rows])

    def _judged(self, call):
        def both(module, dtype=None):
            each = module, compile_(module, self.backend)
            return tuple(partial(call.again, function, dtype) for function in each)

        def copied():
            double = copy.deepcopy(call.module).double()
            return double, both(double, torch.float64)

        return judged(Runs(call.module, both(call.module), copied))


class ModelCall:
    """A call of a module that is no part of another module's call, to be repeated."""

    def __init__(self, module: nn.Module, args: tuple, kwargs: dict):
        self.module = getattr(module, "_orig_mod", module)  # of what the script compiled
        with torch._C.DisableTorchFunction():
            self._given = tree_map(_copy, (args, kwargs))
        devices = filter(torch.is_autocast_enabled, ("cpu", "cuda"))
        self._autocast = {device: torch.get_autocast_dtype(device) for device in devices}
        self.result: object = None

    def keep_gradients(self, roots, weights) -> None:
        """Keep the gradient that arrives at each tensor of the result."""
        results = tensors_in(self.result)
        needed = [tensor for tensor in results if tensor.requires_grad]
        if not needed:
            raise ValueError(
                f"{type(self.module).__name__} returned {type(self.result).__name__}, in which no "
                "tensor was found: only tensors, lists, tuples and dicts can be read"
            )
        weights = None if weights is None else [weights]
        found = torch.autograd.grad(roots, needed, weights, retain_graph=True, allow_unused=True)
        by_id = {id(tensor): gradient for tensor, gradient in zip(needed, found, strict=True)}
        self._gradients = [by_id.get(id(tensor)) for tensor in results]

    def again(self, module: Callable, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A loss whose gradient at the result of this call is the one that was kept."""
        args, kwargs = tree_map(partial(_copy, dtype=dtype), self._given)
        with ExitStack() as contexts:
            for device, narrow in self._autocast.items():
                contexts.enter_context(torch.autocast(device, narrow))
            results = tensors_in(module(*args, **kwargs))
        pairs = zip(results, self._gradients, strict=True)
        loss = sum((result * g.detach()).sum() for result, g in pairs if g is not None)
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        leaves = {id(leaf_of(node)) for node in reachable([loss.grad_fn])}
        # Compiled code may lose the whole graph: then each gradient is 0.
        return loss if leaves & {*map(id, parameters)} else loss + 0 * parameters[0].sum()


def _copy(value, dtype=None):
    """A tensor without history, for no other's changes to reach it; anything else as it is."""
    if not isinstance(value, torch.Tensor) or isinstance(value, nn.Parameter):
        return value
    new = value.detach().to(dtype if value.is_floating_point() else None, copy=True)
    return new.requires_grad_(value.requires_grad)


def compile_(module: nn.Module, backend: str) -> nn.Module:
    """The module compiled anew; it draws the random numbers of the eager one."""
    torch.compiler.reset()
    options = {"fallback_random": True} if backend == "inductor" else None
    return torch.compile(module, backend=backend, options=options)


@contextmanager
def eager_functions() -> Iterator[dict[type, Where | None]]:
    """A context in which torch.compile leaves the user's Functions to eager code.

    Yields a dict, which gets those that are called, each with its line.
    """
    called, every = {}, [torch.autograd.Function]
    for own in every:
        every += own.__subclasses__()
    # torch.compile looks at forward, and never calls another apply.
    theirs = [(own, vars(own).get("forward"), own.forward)
              for own in every if not own.__module__.startswith("torch.")]  # fmt: skip

    def eagerly(own, forward):
        @torch.compiler.disable
        def call(*args):
            called.setdefault(own, where_from(sys._getframe(1)))
            return forward(*args)

        return staticmethod(call)

    for own, _, forward in theirs:
        own.forward = eagerly(own, forward)
    try:
        yield called
    finally:
        for own, before, _ in theirs:
            del own.forward
            if before is not None:
                own.forward = before
