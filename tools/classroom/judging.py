"""Judge the answers of a sheet that runs in another process, and report line by line.

    python -m tools.classroom.judging DESCRIPTOR INCOMING OUTGOING <task.json

The sheet's process gets numbers, and returns numbers: a sheet can replace what it likes in its own
process, and this one does not notice. What a sheet can still claim is in docs/classroom.md.
"""

import contextlib
import dataclasses
import json
import os
import secrets
import sys
from collections import Counter

from lessons.checking import Verdict, judge
from lessons.exercises import CHECKS
from lessons.exercises.registry import Wrong
from tools.classroom.drawn import NOT_COMPARED, Recorder, compare
from tools.classroom.plain import unpack_tensor
from tools.classroom.remote import Closed, Judge
from tools.classroom.solutions import solutions_of

MOST_ATTEMPTS = 10  # at one exercise; a sheet could try all answers
LONGEST_TEXT = 2000


def judge_answer(session: Judge, number: str, content: dict, solution: object) -> Verdict:
    """The verdict of the check, and then for inputs that are drawn now."""
    try:
        tensors = [unpack_tensor(each) for each in content["tensors"]]
        answer = session.unpack(content["value"], tensors)
    except (ValueError, TypeError, LookupError, RuntimeError, RecursionError):
        return Verdict("✗", number, "the answer cannot be judged.")
    if not callable(answer) or isinstance(answer, type):
        return judge(number, answer)
    recorder = Recorder(answer)
    verdict = judge(number, recorder)
    if verdict.sign == "✓" and number not in NOT_COMPARED:
        try:
            compare(answer, solution, [*recorder.calls.values()], secrets.randbits(32))
        except Wrong as wrong:
            return Verdict("✗", number, str(wrong))
        except Exception as error:
            return Verdict("✗", number, f"raised {error!r} for inputs drawn in this run")
    return verdict


def follow(session: Judge, task: dict, report) -> None:
    """Judge what the sheet hands in, until it ends."""
    for number, check in CHECKS.items():  # nobody sees the drawings
        CHECKS[number] = dataclasses.replace(check, draw_wrong=None, draw_right=None)
    solutions = solutions_of(task["notebook"])
    while session.receive()[0] != "ready":
        pass
    report("ready")
    session.send("begin")
    try:
        judge_all(session, task, solutions, report)
    except Closed as closed:
        report("stopped", str(closed))
    else:
        report("end")


def judge_all(session: Judge, task: dict, solutions: dict, report) -> None:
    """Judge until the sheet says that this was all; raises Closed if it ends without that."""
    attempts = Counter()
    while (message := session.receive())[0] != "end":
        kind, content = message
        if kind == "cell" and _fits(content, int):
            report("cell", *content)
        elif kind == "error" and _fits(content, int, str):
            report("error", content[0], content[1][:LONGEST_TEXT])
        elif kind == "check" and _fits(content, str, dict):
            number, answer = content
            attempts[number] += number in task["answers"]
            if attempts[number] == MOST_ATTEMPTS + 1:
                report("often", number, MOST_ATTEMPTS)
            elif 0 < attempts[number] <= MOST_ATTEMPTS:
                verdict = judge_answer(session, number, answer, solutions[number])
                report("verdict", number, verdict.sign, verdict.why)
            session.send("done")


def _fits(content, *kinds):
    return isinstance(content, list) and tuple(map(type, content)) == kinds


def main() -> None:
    task = json.load(sys.stdin)
    descriptor, incoming, outgoing = map(int, sys.argv[1:])

    def report(*message):
        os.write(descriptor, (json.dumps([task["token"], *message]) + "\n").encode())

    session = Judge(incoming, outgoing)
    with contextlib.suppress(Closed):  # before it was ready; the sheet's process says why
        follow(session, task, report)
    os._exit(0)


if __name__ == "__main__":
    main()
