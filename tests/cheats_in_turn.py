"""Both ends of `cheating_sheets.verdicts`: the judge of all cheats, and a process for each of them.

python -m tests.cheats_in_turn DESCRIPTOR INCOMING OUTGOING <task.json      the judge
python -m tests.cheats_in_turn INCOMING OUTGOING <work.json                 the sheets
"""

import json
import os
import select
import signal
import sys
import types

SECONDS = 4  # for each cheat


def judge(descriptor, incoming, outgoing):
    from tools.classroom.judging import judge_all
    from tools.classroom.remote import Judge
    from tools.classroom.solutions import solutions_of

    task, session = json.load(sys.stdin), Judge(incoming, outgoing)
    solutions = {n: it for name in task["notebooks"] for n, it in solutions_of(name).items()}

    def write(*line):
        os.write(descriptor, (json.dumps(line) + "\n").encode())

    session.receive()
    write("ready", "", "")
    while (message := session.receive())[0] != "finished":
        if message[0] != "next":
            continue  # what a cheat has sent
        signs = []

        def report(kind, *rest, signs=signs):
            if kind in ("verdict", "often"):
                signs.append(rest[1] if kind == "verdict" else "often")

        session._junk = 0
        judge_all(session, task, solutions, report)
        write("judged", message[1], signs)


def run_sheets(incoming, outgoing):
    checking = sys.modules["lessons.checking"] = types.ModuleType("lessons.checking")
    checking.check = lambda number, answer: checking.session.ask(number, answer)
    from tools.classroom.cells import limit, quiet_shell, run_cells, silence
    from tools.classroom.remote import Answering

    work, session = json.load(sys.stdin), Answering(incoming, outgoing)
    silence()
    limit(2_000_000_000, 100_000_000, 50)
    session.send("ready")
    for name, code in work["cheats"].items():
        session.send("next", name)
        child = os.fork()
        if not child:
            signal.alarm(SECONDS)
            checking.session = Answering(os.dup(incoming), outgoing)
            shell = quiet_shell()
            cells = [(1, work["setup"]), (2, code)]
            run_cells(shell, cells, lambda kind, *content: checking.session.send(kind, content))
            os._exit(0)
        os.waitpid(child, 0)
        # It may have ended in the middle of a call: end that, and leave nothing for the next one.
        session.send("error", {"kind": "RuntimeError", "message": "ended Python", "where": None})
        while select.select([incoming], [], [], 0.1)[0]:
            os.read(incoming, 1_000_000)
        session.send("end")
    session.send("finished")


if __name__ == "__main__":
    descriptors = [int(each) for each in sys.argv[1:]]
    (judge if len(descriptors) == 3 else run_sheets)(*descriptors)
