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

from autograd_surprises.comparing.gradient_pairs import DIFFER, Gradients, judged
from autograd_surprises.doctor.interception import Interception
from autograd_surprises.facts.graph import leaf_of, name_of, reachable
from autograd_surprises.facts.processes import why_not_alone
from autograd_surprises.recording.patches import Patches
from autograd_surprises.recording.places import Where, where_from
from autograd_surprises.recording.stack import tensors_in
from autograd_surprises.show.findings import first_line

COMPILER = "{} changes the gradient; which operation is at fault cannot be told"
CUSTOM = "without compiling {} (torch.compiler.disable), the gradients are the same"


class CompiledRun(Interception):
    """A context that compares the model's part of the first training step; then the script ends.

    The first backward whose loss reaches a module is caught. The largest such module is called
    once more eagerly and once compiled, and gets the gradient of the script's own backward.

    found    the comparison, step a eager and step b compiled; or None, and `trouble` says why
    backend  of torch.compile; module: the kind of the one that was called

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
        self.module = type(call.module).__name__
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
        both = call.module, compile_(call.module, self.backend)
        with put_back(call.module):
            losses = [call.again(each) for each in both]
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
        compiled = compile_(call.module, self.backend)

        def pair():
            return tuple(call.gradients(call.module, each) for each in (call.module, compiled))

        def nearby():
            with moved(call.module):
                return pair()

        once, again = pair(), pair()
        exact, trouble = self._in_float64(call)
        return judged(once, again, exact, trouble, nearby)

    def _in_float64(self, call):
        """The gradients of a copy of the module in float64, or None and why there are none."""
        if {p.dtype for p in call.module.parameters()} <= {torch.float64, torch.complex128}:
            return None, "float64 is what the model computes with"
        try:
            module = copy.deepcopy(call.module).double()
            both = module, compile_(module, self.backend)
            return tuple(call.gradients(module, each, torch.float64) for each in both), ""
        except Exception as error:  # an operation that has no float64, or what cannot be copied
            return None, f"the model does not run in float64: {first_line(error)}"


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
        if not any(gradient is not None for gradient in found):
            raise ValueError(f"the last call of {type(self.module).__name__} is not in this loss")
        by_id = {id(tensor): gradient for tensor, gradient in zip(needed, found, strict=True)}
        self._gradients = [by_id.get(id(tensor)) for tensor in results]

    def again(self, function: Callable, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A loss whose gradient at the result of this call is the one that was kept."""
        args, kwargs = tree_map(partial(_copy, dtype=dtype), self._given)
        with ExitStack() as contexts:
            if not hasattr(function, "_orig_mod"):  # a part of it may be compiled already
                contexts.enter_context(torch.compiler.set_stance("force_eager"))
            for device, narrow in self._autocast.items():
                contexts.enter_context(torch.autocast(device, narrow))
            results = tensors_in(function(*args, **kwargs))
        pairs = zip(results, self._gradients, strict=True)
        return sum((result * g.detach()).sum() for result, g in pairs if g is not None)

    def gradients(
        self, module: nn.Module, function: Callable, dtype: torch.dtype | None = None
    ) -> Gradients:
        """The gradients of the parameters of a module, which `function` calls, as they arrive."""
        named = {name: p for name, p in module.named_parameters() if p.requires_grad}
        arrived: dict[str, torch.Tensor | None] = {}

        def keeping(name):
            return lambda gradient: arrived.update({name: gradient.to_dense()})

        with put_back(module), ExitStack() as undo:
            loss = self.again(function, dtype)
            for name, parameter in named.items():
                undo.callback(parameter.register_hook(keeping(name)).remove)
            if loss.requires_grad:  # compiled code may lose the whole graph
                torch.autograd.grad(loss, [*named.values()], allow_unused=True)
        return arrived | dict.fromkeys(named.keys() - arrived.keys())


@contextmanager
def put_back(module: nn.Module) -> Iterator[None]:
    """Put back parameters, buffers, attributes of modules, and random numbers.

    >>> norm = nn.BatchNorm1d(2)
    >>> with put_back(norm): drawn = norm(torch.randn(4, 2))
    >>> norm.running_mean.tolist(), torch.equal(norm(torch.randn(4, 2)), drawn)
    ([0.0, 0.0], True)
    """
    held = [d for part in module.modules() for d in (vars(part), part._parameters, part._buffers)]
    dicts = [(each, dict(each)) for each in held]
    tensors = [*module.parameters(), *module.buffers()]
    numbers = [(tensor, tensor.detach().clone()) for tensor in tensors]
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        try:
            yield
        finally:
            for each, before in dicts:
                if {k: id(v) for k, v in each.items()} != {k: id(v) for k, v in before.items()}:
                    each.clear()
                    each.update(before)
            for tensor, before in numbers:
                tensor.data.copy_(before)  # .data: autograd need not know of it


@contextmanager
def moved(module: nn.Module) -> Iterator[None]:
    """Move each parameter by about a hundredth for this while, and so off kinks and ties."""
    with put_back(module):
        draw = torch.Generator().manual_seed(0)
        for p in filter(torch.is_floating_point, module.parameters()):
            noise = torch.randn(p.shape, generator=draw).to(p)
            p.data += 0.01 * p.data.abs().mean().clamp(min=0.01) * noise
        yield


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
