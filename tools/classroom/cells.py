"""Inside the sandbox: run the cells of a sheet, quietly and within limits."""

import io
import os
import resource
import sys
from collections.abc import Callable

import psutil
from IPython.core.interactiveshell import InteractiveShell

MOST_FILES = 200  # open at a time; what the kernel keeps for each is not counted


class Silence(io.TextIOBase):
    """Discards what is printed. IPython cannot replace `write`, or it would keep all the text."""

    def write(self, text):
        return len(text)

    def __setattr__(self, name, value):
        pass


def silence() -> None:
    """Print nothing from here on, and read nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    sys.stdout = sys.stderr = Silence()


def limit(memory: int, disk: int, processes: int) -> None:
    """Set limits, the first two in bytes. The sandbox also watches the process and its children."""
    every = [each.info for each in psutil.process_iter(["uids", "num_threads"])]
    own = [each for each in every if each["uids"] and each["uids"].real == os.getuid()]
    tasks = processes + sum(each["num_threads"] or 0 for each in own)  # the limit counts threads
    resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES, MOST_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
    if sys.platform == "linux":  # macOS does not enforce it
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))


def quiet_shell() -> InteractiveShell:
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    return shell


def run_cells(shell: InteractiveShell, cells: list, report: Callable) -> None:
    """Run each (position, source); report "cell" before each one, and "error" after one."""
    for position, source in cells:
        report("cell", position)
        result = shell.run_cell(source)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            report("error", position, f"{type(error).__name__}: {error}".strip(" :"))
