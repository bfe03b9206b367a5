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

from lessons.several_processes.two_processes import SECONDS


def start(arguments: list[str], log: Path) -> subprocess.Popen:
    """Run Python, with what this process can import. What it writes to stderr goes to `log`."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for _, name in socket.if_nameindex():
        if name.startswith("lo"):  # the loopback: 127.0.0.1
            environment["GLOO_SOCKET_IFNAME"] = name
    command = [sys.executable, *arguments]
    with open(log, "w") as errors:
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)


def meet(rank: int, folder: str, place: str = "meeting") -> None:
    """In one of the two processes: compute in one thread, and form a group with the other one.

    The patience of the group begins when both have imported torch, however long that takes.
    """
    torch.set_num_threads(1)
    Path(folder, f"{place}.{rank}").touch()
    while not Path(folder, f"{place}.{1 - rank}").exists():
        time.sleep(0.05)
    patience = timedelta(seconds=SECONDS)
    dist.init_process_group("gloo", f"file://{folder}/{place}", patience, 2, rank)


def hand_in(result: object, rank: int, folder: str) -> None:
    """In one of the two processes: store its result, wait for the other one, and end."""
    torch.save(result, f"{folder}/{rank}.saving")
    os.rename(f"{folder}/{rank}.saving", f"{folder}/{rank}.pt")
    dist.barrier()
    os._exit(0)  # gloo's threads sometimes abort a process that exits normally


def results_of_two(arguments: Callable[[int], list[str]], folder: Path) -> list:
    """Run Python twice, with the arguments for rank 0 and 1: what both hand in, in this folder.

    Raises RuntimeError with the last line of a process that ended without a result.
    """
    results, logs = ([folder / f"{rank}.{end}" for rank in range(2)] for end in ("pt", "txt"))
    with ExitStack() as stack:
        running = []
        for rank, log in enumerate(logs):
            running.append(stack.enter_context(start(arguments(rank), log)))
            stack.callback(running[-1].kill)
        while not all(result.exists() for result in results):
            for process, result, log in zip(running, results, logs, strict=True):
                if process.poll() is not None and not result.exists():
                    raise RuntimeError(log.read_text().strip().rpartition("\n")[2])
            time.sleep(0.05)
        return [torch.load(result) for result in results]
