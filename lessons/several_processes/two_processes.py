"""Call a function in two processes at once, as `torchrun --nproc-per-node=2` would."""

import atexit
import marshal
import os
import pickle
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from types import FunctionType

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SECONDS = 60  # that a function may take in both, once they have imported torch


def count_exchanges(parallel: DistributedDataParallel) -> list[int]:
    """A list that grows by one with each exchange of gradients."""
    exchanges = []

    def counted(_, bucket):  # torch's own is in a module that warns on Python 3.13
        exchanges.append(bucket.index())
        shared = bucket.buffer().div_(dist.get_world_size())
        return dist.all_reduce(shared, async_op=True).get_future().then(lambda f: f.value()[0])

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
GRACE = 1.0  # seconds that the other process has after an error, which is often raised in both
START = get_context("forkserver" if sys.platform == "linux" else "spawn")
START.set_forkserver_preload([__name__])  # so that one process imports torch for both


class Pair:
    """Two processes, which call one function after the other."""

    def __init__(self):
        # multiprocessing asks for it, and IPython's own module may have none.
        vars(sys.modules["__main__"]).setdefault("__spec__", None)
        self._processes, self._ends, self._done = [], [], True
        self._folder, self._calls = tempfile.mkdtemp(), 0  # where they meet
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        for rank in range(2):
            ours, theirs = START.Pipe()
            process = START.Process(target=_work, args=(rank, theirs), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._ends.append(ours)
        for end in self._ends:  # each says when it has imported torch, however long that takes
            _received(end)

    def call(self, code: bytes) -> list:
        """What the function with this code returns in both processes."""
        self._done, self._calls, found, errors = False, self._calls + 1, {}, []
        for end in self._ends:
            end.send((code, f"{self._folder}/{self._calls}"))
        waiting, last = list(self._ends), time.monotonic() + SECONDS
        while waiting and (patience := last - time.monotonic()) > 0:
            for end in wait(waiting, patience):
                waiting.remove(end)
                error, found[end] = _received(end)
                errors += [error] if error else []
                last = min(last, time.monotonic() + GRACE) if error else last
        self._done = not waiting
        if errors or waiting:
            raise RuntimeError(*errors[:1] or [f"the two processes did not end in {SECONDS} s"])
        return [found[end] for end in self._ends]

    @property
    def waits(self) -> bool:
        """Whether both are ready for the next function."""
        return self._done and not wait(self._ends, 0)  # one that has ended is ready to be read

    def end(self) -> None:
        for process, end in zip(self._processes, self._ends, strict=True):
            process.kill()
            process.join()
            end.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _received(end):
    try:
        return pickle.loads(end.recv())
    except EOFError:
        raise RuntimeError("a process ended without a word") from None


_waiting: list[Pair] = []


def in_two_processes(function: Callable[[int], object]) -> list:
    """[function(0), function(1)], each called in a process of its own, with its rank.

    The processes form a group over gloo, so they can average gradients. They cannot import what a
    notebook defines, so only the code of the function is sent: it may use KNOWN and what it defines
    itself. It returns numbers, texts and tensors. Afterwards the two processes wait for the next
    function, because it takes seconds to start them. Raises RuntimeError with the message of
    the process that fails first, and if this machine starts no second process.

    >>> in_two_processes(lambda rank: rank + dist.get_world_size())
    [2, 3]
    """
    if not (dist.is_available() and dist.is_gloo_available()):
        raise RuntimeError("this torch has no gloo: skip this section")
    pair = _a_pair()
    try:
        return pair.call(marshal.dumps(function.__code__))
    finally:
        if pair.waits:
            _waiting.append(pair)
        else:
            pair.end()


def _a_pair():
    while _waiting:
        pair = _waiting.pop()
        if pair.waits:
            return pair
        pair.end()
    try:
        return Pair()
    except OSError as error:
        raise RuntimeError(
            f"this machine starts no second process ({error}): skip this section"
        ) from error


def _work(rank: int, end: Connection) -> None:
    """What one process does: call each function that it is sent, in a new group of both."""
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what gloo says would stand in the notebook
        os.dup2(silent, stream)
    for _, name in socket.if_nameindex():
        if name.startswith("lo"):  # the loopback: 127.0.0.1
            os.environ["GLOO_SOCKET_IFNAME"] = name
    torch.set_num_threads(1)
    end.send(pickle.dumps("ready"))
    try:
        while True:
            code, meeting = end.recv()
            if dist.is_initialized():
                dist.destroy_process_group()
            dist.init_process_group(
                "gloo", f"file://{meeting}", timedelta(seconds=SECONDS), 2, rank
            )
            # Else tensors would go through shared memory.
            end.send(pickle.dumps(_called(marshal.loads(code), rank)))
    except EOFError:  # nobody is there any more
        os._exit(0)  # gloo's threads sometimes abort a process that exits normally


def _called(code, rank):
    """(error, result) of the function."""
    function = FunctionType(code, {"__builtins__": __builtins__} | KNOWN)
    try:
        return "", function(rank)
    except Exception as error:
        kind = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
        return f"{kind}{error}", None
