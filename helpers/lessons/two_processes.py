"""Call a function in two new processes at once, as `torchrun --nproc-per-node=2` would."""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import FunctionType

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from autograd_surprises.report_card.pair import hand_in, results_of_two


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
PATIENCE = timedelta(seconds=60)


def in_two_processes(function: Callable[[int], object]) -> list:
    """[function(0), function(1)], each called in a process of its own, with its rank.

    The processes form a group over gloo, so they can average gradients. A new process cannot import
    what a notebook defines, so only the code of the function is sent: it may use KNOWN and what it
    defines itself. It returns numbers, texts and tensors. Raises RuntimeError with the message of
    the first process that raises one, and if this machine starts no second process.

    >>> in_two_processes(lambda rank: rank + dist.get_world_size())
    [2, 3]
    """
    if not (dist.is_available() and dist.is_gloo_available()):
        raise RuntimeError("this torch has no gloo: skip this section")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "function").write_bytes(marshal.dumps(function.__code__))
        try:
            answers = results_of_two(
                lambda rank: ["-c", COMMAND.format(rank=rank, folder=folder)], Path(folder)
            )
        except OSError as error:
            raise RuntimeError(
                f"this machine starts no second process ({error}): skip this section"
            ) from error
    for answer in answers:
        if "raised" in answer:
            raise RuntimeError(answer["raised"])
    return [answer["returned"] for answer in answers]


def work(rank: int, folder: str) -> None:
    """What one process does: call the function in this folder, and hand in what it returns."""
    torch.set_num_threads(1)
    code = marshal.loads(Path(folder, "function").read_bytes())
    function = FunctionType(code, {"__builtins__": __builtins__} | KNOWN)
    dist.init_process_group("gloo", f"file://{folder}/meeting", PATIENCE, 2, rank)
    try:
        answer = {"returned": function(rank)}
    except RuntimeError as error:
        answer = {"raised": str(error)}
    hand_in(answer, rank, folder)
