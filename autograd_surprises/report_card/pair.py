"""Two new processes, each with a rank, and the result that each hands in."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

SECONDS = 60


def meet(rank: int, folder: str) -> None:
    """In one of the two processes: compute in one thread, and form a group with the other one."""
    torch.set_num_threads(1)
    patience = timedelta(seconds=SECONDS)
    dist.init_process_group("gloo", f"file://{folder}/meeting", patience, 2, rank)


def hand_in(result: object, rank: int, folder: str) -> None:
    """In one of the two processes: store its result, wait for the other one, and end."""
    torch.save(result, f"{folder}/{rank}.saving")
    os.rename(f"{folder}/{rank}.saving", f"{folder}/{rank}.pt")
    dist.barrier()
    os._exit(0)  # gloo's threads sometimes abort a process that exits normally


def give_up(reason: str, rank: int, folder: str) -> None:
    """In one of the two processes: store why it has no result, and wait until it is killed.

    If it ended by itself, the other process might raise an error, too: that of a lost connection.
    """
    Path(folder, f"{rank}.writing").write_text(reason)
    os.rename(f"{folder}/{rank}.writing", f"{folder}/{rank}.reason")
    time.sleep(SECONDS)
    os._exit(1)


def results_of_two(arguments: Callable[[int], list[str]], folder: Path) -> list:
    """Run Python twice, with the arguments for rank 0 and 1: what both hand in, in this folder.

    Raises RuntimeError with the reason of a process that gave up, or the last line of one that
    ended without a result.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results_of_two(lambda rank: ["-c", "1 / 0"], Path(folder))
    Traceback (most recent call last):
    RuntimeError: ZeroDivisionError: division by zero
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for _, name in socket.if_nameindex():
        if name.startswith("lo"):  # the loopback: 127.0.0.1
            environment["GLOO_SOCKET_IFNAME"] = name
    results = [folder / f"{rank}.pt" for rank in range(2)]
    end = time.monotonic() + SECONDS
    with ExitStack() as stack:
        running = [
            _start([sys.executable, *arguments(rank)], folder / f"{rank}.txt", environment, stack)
            for rank in range(2)
        ]
        while not all(result.exists() for result in results):
            for rank, process in enumerate(running):
                reason = folder / f"{rank}.reason"
                if reason.exists():
                    raise RuntimeError(reason.read_text())
                if process.poll() is not None and not results[rank].exists():
                    errors = (folder / f"{rank}.txt").read_text().strip().splitlines()
                    raise RuntimeError(errors[-1] if errors else "a process ended without a word")
            if time.monotonic() > end:
                raise RuntimeError(f"the two processes did not end within {SECONDS} s")
            time.sleep(0.05)
        return [torch.load(result) for result in results]


def _start(command, log, environment, stack):
    with open(log, "w") as errors:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=errors
        )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process
