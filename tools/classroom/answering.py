"""Inside the sandbox: run a sheet's cells; their `check` hands each answer to another process.

    python -m tools.classroom.answering INCOMING OUTGOING <task.json

The checks and the solutions are not there: all that comes from the judge are calls with numbers.
"""

import json
import os
import sys
import types

from tools.classroom.cells import limit, quiet_shell, run_cells, silence


def main() -> None:
    incoming, outgoing = map(int, sys.argv[1:])
    del sys.argv[1:]
    task = json.load(sys.stdin)
    asked = set()

    def check(number, answer):
        session.ask(number, answer)
        asked.add(number)

    # In place of the module that has the checks, before anything imports `lessons`.
    checking = sys.modules["lessons.checking"] = types.ModuleType("lessons.checking")
    checking.check = check
    from tools.classroom.remote import Answering

    session = Answering(incoming, outgoing)
    silence()
    limit(*task["limits"])
    session.send("ready")
    session.receive()  # the judge is ready, too, so the clock runs
    shell = quiet_shell()
    with shell.builtin_trap:  # IPython replaces `quit` and `exit`
        run_cells(shell, task["cells"], lambda kind, *content: session.send(kind, content))
        for number, name in task["answers"].items():
            if number not in asked and name in shell.user_ns:  # the sheet has a `check` of its own
                check(number, shell.user_ns[name])
    session.send("end")
    os._exit(0)  # threads that the sheet started may never end


if __name__ == "__main__":
    main()
