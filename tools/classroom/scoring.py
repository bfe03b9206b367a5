"""Score every exercise of a returned sheet, and write all scores as a table."""

import csv
import errno
import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from tools.classroom import sandbox
from tools.classroom.returned import Unreadable, learner_of, read_sheet
from tools.classroom.sandbox import Limits

PASSED = "passed"
MOST_RESTARTS = 3
LONGEST_REASON = 300
# What the lines of a report have, by kind; a sheet that finds the token may write others.
LINES = {
    "cell": (int,),
    "error": (int, str),
    "verdict": (str, str, str),
    "replaced": (str, str),
    "end": (),
}
NO_MEMORY = re.compile(r"MemoryError|can't allocate memory|not enough memory")
NO_PROCESS = re.compile(rf"BlockingIOError: \[Errno {errno.EAGAIN}\]|can't start new thread")


@dataclass(frozen=True)
class Score:
    """The result of one file: exercise -> "passed" or why not, and remarks on the whole file."""

    path: Path
    learner: str
    notebook: str = ""
    results: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def find_files(given: Iterable[str]) -> list[Path]:
    """The files, and the notebooks in the folders; raises FileNotFoundError if there are none."""
    found = []
    for name in given:
        path = Path(name)
        found += sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
    found = [path for path in found if ".ipynb_checkpoints" not in path.parts]
    missing = [path for path in found if not path.exists() and not path.is_symlink()]
    if missing or not found:
        what = ", ".join(map(str, missing)) or ", ".join(given) or "FILES is empty"
        raise FileNotFoundError(f"no sheets: {what}. Name files or a folder: make score FILES=…")
    return found


def score_file(path: Path, limits: Limits, protected: bool) -> Score:
    """Run the sheet in a file; a file that is not a sheet gets a remark and no results."""
    try:
        sheet = read_sheet(path)
    except Unreadable as error:
        return Score(path, learner_of(path), remarks=[f"{path.name} {error}"])
    stopped = {}  # position of a cell -> why the run ended there
    while True:
        run = _run(sheet, limits, protected, without=stopped)
        if run.complete:
            break
        stopped[run.cell] = run.why
        judged = {*run.verdicts, *run.replaced, *map(sheet.exercises.get, stopped)}
        if judged >= {*sheet.answers} or len(stopped) > MOST_RESTARTS or not run.cell:
            break
        # Run the other cells again, without this one.
    remarks = [
        f"{why} in cell {cell}" for cell, why in stopped.items() if not sheet.exercises.get(cell)
    ]
    results = {number: _result(number, sheet, run, stopped) for number in sheet.answers}
    return Score(path, sheet.learner, sheet.notebook, results, remarks)


@dataclass
class _Run:
    """What one run of a sheet reported."""

    complete: bool = False
    why: str = ""
    cell: int = 0  # the last one that was started
    errors: dict[int, str] = field(default_factory=dict)
    verdicts: dict[str, dict[str, str]] = field(default_factory=dict)  # sign -> the last reason
    replaced: dict[str, str] = field(default_factory=dict)


def _run(sheet, limits, protected, without):
    token = secrets.token_hex(16)
    task = {
        "token": token,
        "cells": [cell for cell in sheet.cells if cell[0] not in without],
        "answers": sheet.answers,
        "limits": [limits.memory, limits.disk, limits.processes],
    }
    text = json.dumps(task).encode()
    ending = sandbox.run("tools.classroom.judging", text, limits, protected)
    run = _Run(why=ending.why or "ended Python")
    for line in ending.lines:
        try:
            sent, kind, *rest = json.loads(line)
            expected = LINES[kind]
        except (KeyError, ValueError, TypeError, RecursionError):
            continue  # from the sheet, or the line that starts the clock
        if sent != token or tuple(map(type, rest)) != expected:
            continue
        if kind == "cell":
            (run.cell,) = rest
        elif kind == "error":
            position, error = rest
            run.errors[position] = _why_it_failed(position, error, limits)
        elif kind == "verdict":
            number, sign, why = rest
            run.verdicts.setdefault(number, {})[sign] = why
        elif kind == "replaced":
            number, name = rest
            run.replaced[number] = name
        else:
            run.complete = True
    return run


def _why_it_failed(position, error, limits):
    """In the words of the limit that refused something, if one did."""
    for refused, limit in (
        (NO_MEMORY, limits.too_much_memory),
        (NO_PROCESS, limits.too_many_processes),
    ):
        if refused.search(error):
            return f"{limit} in cell {position}"
    return _one_line(f"error in cell {position}: {error}")


def _result(number, sheet, run, stopped):
    if number in run.replaced:
        return f"not counted: the sheet has replaced {run.replaced[number]}, which checks use"
    verdicts = run.verdicts.get(number, {})
    if "✓" in verdicts:
        return PASSED
    for cell, why in stopped.items():
        if sheet.exercises.get(cell) == number:
            return f"{why} in cell {cell}"
    if "✗" in verdicts:
        return _one_line(f"wrong: {verdicts['✗']}")
    for cell, error in run.errors.items():
        if sheet.exercises.get(cell) == number:
            return error
    return "not tried" if run.complete else f"not reached: {run.why} in cell {run.cell}"


def _one_line(text):
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON] + "…"


def score_files(
    paths: list[Path], limits: Limits, protected: bool, known: Callable[[list[Score]], None]
) -> list[Score]:
    """Score files, two at a time. Returns the scores in the given order.

    known  called after each file with the scores so far, in this order, too
    """
    scores = {}
    pool = ThreadPoolExecutor(max_workers=2)
    try:
        jobs = {pool.submit(score_file, path, limits, protected): path for path in paths}
        for job in as_completed(jobs):
            scores[jobs[job]] = job.result()
            known([scores[path] for path in paths if path in scores])
    finally:
        sandbox.interrupted.set()  # those that still run, after an error or Ctrl-C
        pool.shutdown(cancel_futures=True)
        sandbox.interrupted.clear()
    return [scores[path] for path in paths]


def write_table(scores: list[Score], file) -> None:
    """A CSV with a row for each learner and a column for each exercise of the sheets.

    A learner who handed in the same sheet twice gets a row for each of these files.
    """
    sheets = Counter((score.learner, score.notebook) for score in scores if score.notebook)
    rows = {}
    for score in scores:
        twice = sheets[score.learner, score.notebook] > 1
        row = rows.setdefault(str(score.path) if twice else score.learner, [])
        row.append(score)
    numbers = sorted({number for score in scores for number in score.results})
    table = csv.writer(file)
    table.writerow(["learner", *numbers, PASSED, "remarks"])
    for learner, parts in sorted(rows.items()):
        results = {number: why for part in parts for number, why in part.results.items()}
        remarks = "; ".join(remark for part in parts for remark in part.remarks)
        right = list(results.values()).count(PASSED)
        cells = [results.get(number, "no sheet") for number in numbers]
        table.writerow(map(_plain, [learner, *cells, right, _one_line(remarks)]))


def _plain(cell):
    """Text that a spreadsheet does not take for a formula, which it would run."""
    return f"'{cell}" if str(cell).startswith(("=", "+", "-", "@", "\t", "\r")) else cell
