"""Processes that train together, and which backwards one of them must not run alone."""

import gc
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import torch
import torch.distributed as dist
import torch.utils.checkpoint
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_surprises.facts.graph import Node, leaf_of

SPREAD = "FSDP or DTensors spread a model over several processes"
SELECTIVE = "selective activation checkpointing allows a single backward"
FREED = "the memory of a parameter is freed until its backward begins"
STATIC = "with static_graph=True, DistributedDataParallel sets itself up in its first backward"
WAITS = "its backward calls {}, which waits for other processes"
FSDP = ("FSDP", "FullyShardedDataParallel")  # what the names of such classes begin with
COLLECTIVES = {"c10d", "c10d_functional", "_c10d_functional", "_c10d_functional_autograd"}


def rank_and_size() -> tuple[int, int]:
    """The number of this process, and how many train together, as far as is known."""
    if is_together():
        return dist.get_rank(), dist.get_world_size()
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def is_together() -> bool:
    """Have processes met, to train together?"""
    return dist.is_available() and dist.is_initialized()


def is_spread(tensor: torch.Tensor) -> bool:
    """Is it a DTensor? To read its numbers, processes may have to communicate."""
    return type(tensor) is not torch.Tensor and isinstance(tensor, _dtensor())


def _dtensor():
    return getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", ())


def why_not_alone(nodes: Iterable[Node]) -> str:
    """Why the doctor's own backward through these nodes would do harm; "" if nothing is known.

    >>> why_not_alone([torch.ones(1, requires_grad=True).exp().grad_fn])
    ''
    """
    nodes = list(nodes)
    leaves = [leaf for leaf in map(leaf_of, nodes) if leaf is not None]
    living = set(map(type, gc.get_objects()))
    # FSDP swaps parameters, so no leaf tells which graph is concerned.
    if any(map(is_spread, leaves)) or (is_together() and any(map(_has_fsdp, living))):
        return SPREAD
    if any(map(_is_freed, leaves)):
        return FREED
    if getattr(torch.utils.checkpoint, "_CachedTorchDispatchMode", None) in living:
        return SELECTIVE
    wrappers = [node.ddp_weakref() for node in nodes if hasattr(node, "ddp_weakref")]
    return STATIC if any(map(_waits_for_first_backward, wrappers)) else ""


def _has_fsdp(kind):
    names = [part.__name__ for part in kind.__mro__]
    return issubclass(kind, torch.nn.Module) and any(name.startswith(FSDP) for name in names)


def _is_freed(leaf):
    with suppress(Exception):  # a kind of tensor without a storage
        return leaf.untyped_storage().size() == 0 < leaf.numel()
    return False


def _waits_for_first_backward(parallel):
    if parallel is None or not parallel.static_graph:  # None: it is gone, and the graph lives on
        return False
    return not getattr(parallel, "_static_graph_delay_allreduce_enqueued", False)


@contextmanager
def alone() -> Iterator[list[str]]:
    """A context in which nothing communicates: a call that would raises, and ends it.

    Yields a list, which then holds the reason.

    >>> with alone() as refused:
    ...     _ = torch.ones(2).exp()
    >>> refused
    []
    """
    refused: list[str] = []
    if not is_together() or dist.get_world_size() < 2:
        yield refused
        return
    try:
        with _Refusing(refused):
            yield refused
    except Exception:
        if not refused:
            raise


class _Refusing(TorchDispatchMode):
    def __init__(self, refused):
        super().__init__()
        self._refused = refused

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace in COLLECTIVES:
            self._refused.append(WAITS.format(func.overloadpacket.__name__.strip("_")))
        elif any(issubclass(kind, _dtensor()) for kind in types):  # within, no mode is on
            self._refused.append(SPREAD)
        if self._refused:
            raise RuntimeError(self._refused[0])
        return func(*_as_tensors(func, args), **(kwargs or {}))


def _as_tensors(func, args):
    """A mode gets a tensor that stands for a number as that number, which few operations take."""
    if torch._C._should_allow_numbers_as_tensors(func.overloadpacket.__name__):
        return args
    wanted = [str(argument.type) == "Tensor" for argument in func._schema.arguments]
    return [
        torch.tensor(given, dtype=torch.float64 if isinstance(given, float) else None)
        if tensor and isinstance(given, (bool, int, float, complex))
        else given
        for given, tensor in zip(args, wanted, strict=False)
    ]
