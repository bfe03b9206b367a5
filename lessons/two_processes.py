"""Call a function in two processes at once, as `torchrun --nproc-per-node=2` would."""

import atexit
import marshal
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import FunctionType

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SECONDS = 600  # until they count as stuck: on a busy machine, importing torch takes minutes


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
# Not by its whole name: that would import the widgets, too, which takes longer.
HERE, NAME = str(Path(__file__).parent), Path(__file__).stem
COMMAND = f"import sys; sys.path.append({HERE!r}); from {NAME} import work; work({{rank}})"
GRACE = 1.0  # seconds that the other process has after an error, which is often raised in both


def meet(rank: int, folder: str) -> None:
    """In one of the two processes: compute in one thread, and form a group with the other one."""
    torch.set_num_threads(1)
    patience = timedelta(seconds=SECONDS)
    dist.init_process_group("gloo", f"file://{folder}/meeting", patience, 2, rank)


def start(arguments: list[str], log: Path, **options) -> subprocess.Popen:
    """Run Python, with what this process can import. What it writes to stderr goes to `log`."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for _, name in socket.if_nameindex():
        if name.startswith("lo"):  # the loopback: 127.0.0.1
            environment["GLOO_SOCKET_IFNAME"] = name
    command = [sys.executable, *arguments]
    with open(log, "w") as errors:
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=errors, **options
        )


def last_words(log: Path) -> str:
    """The last line in this log of a process that ended without a result."""
    errors = log.read_text().strip().splitlines()
    return errors[-1] if errors else "a process ended without a word"


class Pair:
    """Two processes, which call one function after the other until their stdin is closed."""

    def __init__(self):
        self._folder, self._calls = tempfile.TemporaryDirectory(), 0
        self._logs = [Path(self._folder.name, f"{rank}.txt") for rank in range(2)]
        self._processes = []
        self._done = True
        atexit.register(self.end)
        try:
            for rank, log in enumerate(self._logs):
                command = ["-c", COMMAND.format(rank=rank)]
                self._processes.append(start(command, log, stdin=subprocess.PIPE, text=True))
        except OSError:
            self.end()
            raise

    def call(self, code: bytes) -> list:
        """What the function with this code returns in both processes."""
        self._done, self._calls = False, self._calls + 1
        folder = Path(self._folder.name, str(self._calls))
        folder.mkdir()
        (folder / "function").write_bytes(code)
        for process in self._processes:
            process.stdin.write(f"{folder}\n")
            process.stdin.flush()
        self._wait(folder)
        errors = sorted(folder.glob("*.error"), key=lambda path: path.stat().st_mtime_ns)
        if errors:
            raise RuntimeError(errors[0].read_text())
        if not self._done:
            raise RuntimeError(f"the two processes did not end within {SECONDS} s")
        return [torch.load(folder / f"{rank}.pt") for rank in range(2)]

    def _wait(self, folder):
        """Until both have handed in a result or an error, or there is no hope for it."""
        end = time.monotonic() + SECONDS
        while not self._done and time.monotonic() < end:
            time.sleep(0.02)
            self._done = len([*folder.glob("*.pt"), *folder.glob("*.error")]) == 2
            if any(folder.glob("*.error")):
                end = min(end, time.monotonic() + GRACE)
            for process, log in zip(self._processes, self._logs, strict=True):
                if process.poll() is not None:
                    raise RuntimeError(last_words(log))

    @property
    def waits(self) -> bool:
        """Whether both are ready for the next function."""
        return self._done and all(process.poll() is None for process in self._processes)

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()
        self._folder.cleanup()
        atexit.unregister(self.end)


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


def work(rank: int) -> None:
    """What one process does: call the function of each folder that stdin names."""
    for line in sys.stdin:
        folder = Path(line.strip())
        if dist.is_initialized():
            dist.destroy_process_group()
        meet(rank, str(folder))
        _call(marshal.loads((folder / "function").read_bytes()), folder, rank)
    os._exit(0)  # gloo's threads sometimes abort a process that exits normally


def _call(code, folder, rank):
    unfinished = folder / f"{rank}.saving"
    function = FunctionType(code, {"__builtins__": __builtins__} | KNOWN)
    try:
        torch.save(function(rank), unfinished)
        os.rename(unfinished, folder / f"{rank}.pt")
    except Exception as error:
        kind = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
        unfinished.write_text(f"{kind}{error}")
        os.rename(unfinished, folder / f"{rank}.error")
