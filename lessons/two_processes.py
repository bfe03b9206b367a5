"""Call a function in two new processes at once, as `torchrun --nproc-per-node=2` would."""

import marshal
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import FunctionType

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from autograd_surprises.report_card.pair import give_up, hand_in, meet, results_of_two


def count_exchanges(parallel: DistributedDataParallel) -> list[int]:
    """A list that grows by one with each exchange of gradients."""
    exchanges = []

    def counted(group, bucket):
        exchanges.append(bucket.index())
        return allreduce_hook(group, bucket)

    parallel.register_comm_hook(None, counted)
    return exchanges


# What a function can use in a process.
KNOWN = {
    "torch": torch,
    "dist": dist,
    "nn": nn,
    "nullcontext": nullcontext,
    "DistributedDataParallel": DistributedDataParallel,
    "count_exchanges": count_exchanges,
}
# Not by its whole name: that would import the widgets, too, which takes longer.
HERE, NAME = str(Path(__file__).parent), Path(__file__).stem
COMMAND = (
    f"import sys; sys.path.append({HERE!r}); from {NAME} import work; work({{rank}}, {{folder!r}})"
)


def in_two_processes(function: Callable[[int], object]) -> list:
    """[function(0), function(1)], each called in a process of its own, with its rank.

    The processes form a group over gloo, so they can average gradients. A new process cannot import
    what a notebook defines, so only the code of the function is sent: it may use KNOWN and what it
    defines itself. It returns numbers, texts and tensors. Raises RuntimeError with the message of
    the process that fails first, and if this machine starts no second process.

    >>> in_two_processes(lambda rank: rank + dist.get_world_size())
    [2, 3]
    """
    if not (dist.is_available() and dist.is_gloo_available()):
        raise RuntimeError("this torch has no gloo: skip this section")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "function").write_bytes(marshal.dumps(function.__code__))
        try:
            return results_of_two(
                lambda rank: ["-c", COMMAND.format(rank=rank, folder=folder)], Path(folder)
            )
        except OSError as error:
            raise RuntimeError(
                f"this machine starts no second process ({error}): skip this section"
            ) from error


def work(rank: int, folder: str) -> None:
    """What one process does: call the function in this folder, and hand in what it returns."""
    code = marshal.loads(Path(folder, "function").read_bytes())
    function = FunctionType(code, {"__builtins__": __builtins__} | KNOWN)
    meet(rank, folder)
    try:
        hand_in(function(rank), rank, folder)
    except RuntimeError as error:
        give_up(str(error), rank, folder)
    except Exception as error:
        give_up(f"{type(error).__name__}: {error}", rank, folder)
