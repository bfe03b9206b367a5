"""Inside the sandbox: run a sheet's cells, judge each answer, report line by line.

    python -m tools.classroom.judging DESCRIPTOR <task.json

Each line of the report is a JSON list that starts with the task's token. The sheet runs in this
very process, so a sheet that is written to deceive this file can. It notices the plain attempts:
text that is printed is not the report, a sheet's own `check` is not asked, lines without the token
do not count, and neither does a check that also accepts an answer that is surely wrong.
"""

from __future__ import annotations

import json
import os
import resource
import sys

import torch
from IPython.core.interactiveshell import InteractiveShell

import helpers.lessons
from helpers.lessons import checking


def surely_wrong(*args):
    """An answer that no exercise accepts."""
    return torch.full_like(args[0], 12345.0) if args else torch.tensor(12345.0)


def limit(memory: int, disk: int) -> None:
    """Limits of this process, in bytes. Time, and what its children use, is watched from outside."""
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
            os._exit(0)  # the sheet has forked, and this is the copy
        write(descriptor, (json.dumps([token, *message]) + "\n").encode())

    return report


def judge_sheet(task: dict, report) -> None:
    """Run the cells; report each cell, each error, and each verdict."""
    judge, asked = checking.judge, set()

    def check(number, answer):
        verdict = judge(number, answer)
        sign = verdict.sign
        if sign == "✓" and judge(number, surely_wrong).sign == "✓":
            sign = "!"
        asked.add(number)
        report("verdict", number, sign, verdict.why)

    helpers.lessons.check = checking.check = check
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    for position, source in task["cells"]:
        report("cell", position)
        result = shell.run_cell(source)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            report("error", position, f"{type(error).__name__}: {error}")
    for number, name in task["answers"].items():
        if number not in asked and name in shell.user_ns:  # a sheet without its own `check`
            check(number, shell.user_ns[name])
    report("end")


def main() -> None:
    task = json.load(sys.stdin)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    limit(*task["limits"])
    report = reporter(int(sys.argv.pop()), task.pop("token"))
    report("ready")
    judge_sheet(task, report)
    os._exit(0)  # threads that the sheet has started may never end


if __name__ == "__main__":
    main()
