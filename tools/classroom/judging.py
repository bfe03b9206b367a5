"""Inside the sandbox: run a sheet's cells, judge each answer, report line by line.

    python -m tools.classroom.judging DESCRIPTOR <task.json

Each line of the report is a JSON list that starts with the task's token. The sheet runs in this
very process, so a sheet that is written to deceive this file can do so. Simple attempts fail:
printed text is not the report, a sheet's own `check` is not used, lines without the token do not
count, and a function of torch, builtins or our packages that the sheet has replaced is noticed if
the replacement does not pretend to be torch's.
"""

import builtins
import io
import json
import os
import resource
import sys

import psutil
import torch
from IPython.core.interactiveshell import InteractiveShell

import lessons
from lessons import checking
from lessons.exercises import CHECKS
from lessons.exercises.registry import Check

OWN_PACKAGES = ("autograd_surprises", "helpers", "lessons")


class Silence(io.TextIOBase):
    """Discards what is printed. IPython cannot replace `write`, or it would keep all the text."""

    def write(self, text):
        return len(text)

    def __setattr__(self, name, value):
        pass


class Watch:
    """The functions that checks use, as they were before the sheet ran."""

    def __init__(self):
        own = [m for name, m in sys.modules.items() if name.partition(".")[0] in OWN_PACKAGES]
        things = (builtins, torch, torch.Tensor, torch.autograd, *own, *CHECKS.values())
        self.before = [
            (place, {name: (it, code_of(it)) for name, it in place.items() if self._counts(it)})
            for place in (CHECKS, *map(vars, things))
        ]

    def replaced(self) -> str:
        """The name of a function that has been replaced, or "" if there is none."""
        # The comparison calls no built-in function, because the sheet may have replaced it.
        for place, before in self.before:
            for name, (it, code) in before.items():
                now = place.get(name)
                if now is not it or code_of(now) is not code:
                    by_torch = f"{getattr(now, '__module__', '')}".startswith("torch.")
                    if not by_torch:  # torch.compile replaces some
                        return name
        return ""

    def _counts(self, it):
        return callable(it) or isinstance(it, Check)


def code_of(it: object) -> object:
    """The code of a Python function; None for anything else."""
    try:
        return it.__code__
    except AttributeError:
        return None


def limit(memory: int, disk: int, processes: int) -> None:
    """Set limits, the first two in bytes. The sandbox also watches the process and its children."""
    every = [each.info for each in psutil.process_iter(["uids", "num_threads"])]
    own = [each for each in every if each["uids"] and each["uids"].real == os.getuid()]
    tasks = processes + sum(each["num_threads"] or 0 for each in own)  # the limit counts threads
    resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
    if sys.platform == "linux":  # macOS does not enforce it
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))


def reporter(descriptor: int, token: str):
    """A function that writes a line of the report."""
    own, write = os.getpid(), os.write

    def report(*message):
        if os.getpid() != own:
            os._exit(0)  # the sheet has forked, and this is the child
        write(descriptor, (json.dumps([token, *message]) + "\n").encode())

    return report


def judge_sheet(task: dict, report) -> None:
    """Run the cells; report each cell, each error, and each verdict."""
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    judge, asked = checking.judge, set()

    def check(number, answer):
        verdict = judge(number, answer)
        asked.add(number)
        name = watch.replaced() if verdict.sign == "✓" else ""
        if name:
            report("replaced", number, name)
        else:
            report("verdict", number, verdict.sign, verdict.why)

    lessons.check = checking.check = check
    with shell.builtin_trap:  # IPython replaces `quit` and `exit`
        watch = Watch()
        for position, source in task["cells"]:
            report("cell", position)
            result = shell.run_cell(source)
            error = result.error_before_exec or result.error_in_exec
            if error is not None:
                report("error", position, f"{type(error).__name__}: {error}".strip(" :"))
        for number, name in task["answers"].items():
            if number not in asked and name in shell.user_ns:  # the sheet has a `check` of its own
                check(number, shell.user_ns[name])
    report("end")


def main() -> None:
    task = json.load(sys.stdin)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    sys.stdout = sys.stderr = Silence()
    limit(*task["limits"])
    report = reporter(int(sys.argv.pop()), task.pop("token"))
    report("ready")
    judge_sheet(task, report)
    os._exit(0)  # threads that the sheet started may never end


if __name__ == "__main__":
    main()
