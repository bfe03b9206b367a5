"""What a backward changes beside gradients: buffers, what hooks keep, and random numbers."""

import functools
import inspect
import random
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn

from autograd_surprises.recording.modules import own_parameters
from autograd_surprises.recording.stack import closure_of

CONTAINERS = (list, dict, set, deque, OrderedDict, defaultdict)  # others may refuse changes
DEEP = 3  # containers in containers of what hooks keep
LARGE = 2**20  # elements: larger tensors that hooks keep are activations, which hooks only read


@contextmanager
def unchanged(modules: Iterable[nn.Module], tensors: Iterable[torch.Tensor] = ()) -> Iterator[None]:
    """Put back what a backward inside changes in modules and in the state of backward hooks.

    A checkpoint calls its modules again, which updates the statistics of a BatchNorm once more. A
    backward hook may take what a forward hook has kept, as opacus does. What was drawn from the
    generators of Python and NumPy is put back, too; torch.random.fork_rng does that for torch.

    tensors  whose hooks count, too; those of the modules' parameters always do

    >>> norm = nn.BatchNorm1d(2)
    >>> with unchanged([norm]): _ = norm(torch.randn(4, 2))
    >>> norm.running_mean
    tensor([0., 0.])
    """
    parts = list({id(part): part for module in modules for part in module.modules()}.values())
    with ExitStack() as undo:
        tensors = [*tensors, *(p for part in parts for p in own_parameters(part))]
        for owner in _owners(parts, tensors):
            undo.callback(_remember(owner))
        undo.callback(random.setstate, random.getstate())
        if numpy_random := sys.modules.get("numpy.random"):
            undo.callback(numpy_random.set_state, numpy_random.get_state())
        seen: set[int] = set()

        def before_forward(module, inputs):
            for part in [module] if seen else [module, *parts]:
                if id(part) not in seen:
                    seen.add(id(part))
                    for name, buffer in part._buffers.items():
                        undo.callback(_remember_buffer(part, name, buffer))

        with nn.modules.module.register_module_forward_pre_hook(before_forward):
            yield


@contextmanager
def own_backward(
    loss: torch.Tensor, modules: Iterable[nn.Module], tensors: Iterable[torch.Tensor]
) -> Iterator[None]:
    """The state in which a backward runs that is not the user's: no mode sees it, nothing stays."""
    devices = range(torch.cuda.device_count()) if loss.is_cuda else []
    with (
        torch._C.DisableTorchFunction(),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.random.fork_rng(devices),
        unchanged(modules, tensors),
    ):
        yield


def _owners(modules, tensors):
    """The dicts and containers that backward hooks keep their state in."""
    found = []
    for holder in [*modules, *tensors]:
        hooks = [
            hook
            for kind in ("_backward_hooks", "_backward_pre_hooks")
            for hook in (getattr(holder, kind, None) or {}).values()
        ]
        if not hooks:
            continue
        if isinstance(holder, nn.Module):
            found += [vars(holder), *map(vars, own_parameters(holder))]
        found += [state for hook in hooks for state in _state_of(hook)]
    return {id(owner): owner for owner in found}.values()


def _state_of(hook):
    """What a function may write into: its object, what its closure holds, and its globals."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    state = [vars(hook.__self__)] if hasattr(getattr(hook, "__self__", None), "__dict__") else []
    for held in _held_by(hook):
        if type(held) in CONTAINERS:
            state.append(held)
    for held in closure_of(hook).values():
        if inspect.isfunction(held) and held is not hook:
            state += _state_of(held)
    return state


def _held_by(function):
    """What its closure holds, and the global variables that its code names."""
    code = getattr(function, "__code__", None)
    names = code.co_names if code is not None else ()
    return [*closure_of(function).values(), *(function.__globals__.get(name) for name in names)]


def _remember(value, depth=DEEP) -> Callable[[], None]:
    """A function that puts back what is in a container now, and the numbers of its tensors."""
    if isinstance(value, torch.Tensor):
        passive = isinstance(value, nn.Parameter) or value.numel() > LARGE
        return _nothing if passive else _remember_tensor(value)
    if type(value) not in CONTAINERS or not depth:
        return _nothing
    kept = value.copy()
    parts = kept.values() if isinstance(kept, dict) else kept
    inner = [put for part in parts if (put := _remember(part, depth - 1)) is not _nothing]

    def put_back():
        if _parts(value) != _parts(kept):
            value.clear()
            (value.extend if isinstance(value, (list, deque)) else value.update)(kept)
        for put in inner:
            put()

    return put_back


def _parts(container):
    """What tells whether something was added, removed or replaced."""
    if isinstance(container, dict):
        return [(id(key), id(value)) for key, value in container.items()]
    return (set if isinstance(container, set) else list)(map(id, container))


def _nothing():
    pass


def _remember_tensor(tensor):
    if tensor.requires_grad or tensor.is_inference() or tensor.is_meta:
        return _nothing
    numbers = tensor.detach().clone()
    version = torch.autograd._unsafe_preserve_version_counter(tensor)
    version.__enter__()

    def put_back():
        tensor.data.copy_(numbers)  # .data: autograd need not know of it
        version.__exit__(None, None, None)

    return put_back


def _remember_buffer(module, name, buffer):
    put = _nothing if buffer is None else _remember_tensor(buffer)

    def put_back():
        module._buffers[name] = buffer
        put()

    return put_back
