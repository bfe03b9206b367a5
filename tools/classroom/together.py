"""For answers that no other process can judge: run a sheet's cells, and judge in the same process.

    python -m tools.classroom.together DESCRIPTOR <task.json

Each line of the report is a JSON list that starts with the task's token. The sheet runs in this
very process, so a sheet that is written to deceive this file can do so. Simple attempts fail:
printed text is not the report, a sheet's own `check` is not used, lines without the token do not
count, and a function of torch, builtins or our packages that the sheet has replaced is noticed if
the replacement does not pretend to be torch's.
"""

import builtins
import json
import os
import sys

import torch

import lessons
from lessons import checking
from lessons.exercises import CHECKS
from lessons.exercises.registry import Check
from tools.classroom.cells import limit, quiet_shell, run_cells, silence

OWN_PACKAGES = ("autograd_surprises", "helpers", "lessons")


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
    shell = quiet_shell()
    judge, asked = checking.judge, set()

    def check(number, answer):
        if number not in task["answers"]:
            return
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
        run_cells(shell, task["cells"], report)
        for number, name in task["answers"].items():
            if number not in asked and name in shell.user_ns:  # the sheet has a `check` of its own
                check(number, shell.user_ns[name])
    report("end")


def main() -> None:
    task = json.load(sys.stdin)
    silence()
    limit(*task["limits"])
    report = reporter(int(sys.argv.pop()), task.pop("token"))
    report("ready")
    judge_sheet(task, report)
    os._exit(0)  # threads that the sheet started may never end


if __name__ == "__main__":
    main()
