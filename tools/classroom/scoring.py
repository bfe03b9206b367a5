"""Score every exercise of a returned sheet, and write all scores as a table."""

import csv
import errno
import json
import locale
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools.classroom import sandbox
from tools.classroom.returned import Unreadable, learner_of, read_sheet
from tools.classroom.sandbox import Limits, Program

PASSED = "passed"
# Their checks need more of the answer than numbers, such as a class, or a model that it gets: they
# are judged in the sheet's own process.
TOGETHER = frozenset(
    ("01.1", "05.2", "05.3", "07.2", "11.2", "12.1", "14.1", "14.2", "17.2", "18.1", "18.2")
)
CHECKS = "lessons/exercises"
MOST_RESTARTS = 3
LONGEST_REASON = 300
# What the lines of a report have, by kind; a sheet that finds the token may write others.
LINES = {
    "cell": (int,),
    "error": (int, str),
    "verdict": (str, str, str),
    "replaced": (str, str),
    "often": (str, int),
    "stopped": (str,),
    "end": (),
}
NO_MEMORY = re.compile(r"MemoryError|can't allocate memory|not enough memory")
# At the start of a cell, or after what some spreadsheet takes for the end of one.
STARTS_FORMULA = re.compile(r"""((?:^|[;,\t|])[\s"']*)(?=[=+\-@])""")
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
    results, remarks = {}, list(sheet.remarks)
    for together in (False, True):
        part = _part_of(sheet, together)
        if part.answers:
            run, stopped = _run_to_the_end(part, limits, protected, together)
            results |= {number: _result(number, part, run, stopped) for number in part.answers}
            remarks += [
                f"{why} in cell {cell}"
                for cell, why in stopped.items()
                if not part.exercises.get(cell)
            ]
    results = {number: results[number] for number in sheet.answers}
    return Score(path, sheet.learner, sheet.notebook, results, [*dict.fromkeys(remarks)])


def _part_of(sheet, together):
    """The sheet with only the exercises that are judged in this way."""
    answers = {n: name for n, name in sheet.answers.items() if (n in TOGETHER) == together}
    wanted = {"", *answers}
    cells = [cell for cell in sheet.cells if sheet.exercises.get(cell[0], "") in wanted]
    return replace(sheet, answers=answers, cells=cells)


def _run_to_the_end(sheet, limits, protected, together):
    """The last run, and the cells that ended one before: {position: why}."""
    stopped = {}
    while True:
        run = _run(sheet, limits, protected, together, without=stopped)
        if run.complete:
            return run, stopped
        stopped[run.cell] = run.why
        judged = {*run.verdicts, *run.replaced, *map(sheet.exercises.get, stopped)}
        if judged >= {*sheet.answers} or len(stopped) > MOST_RESTARTS or not run.cell:
            return run, stopped
        # Run the other cells again, without this one.


@dataclass
class _Run:
    """What one run of a sheet reported."""

    complete: bool = False
    why: str = ""
    cell: int = 0  # the last one that was started
    errors: dict[int, str] = field(default_factory=dict)
    verdicts: dict[str, dict[str, str]] = field(default_factory=dict)  # sign -> the last reason
    replaced: dict[str, str] = field(default_factory=dict)
    often: dict[str, int] = field(default_factory=dict)


def _run(sheet, limits, protected, together, without):
    token = secrets.token_hex(16)
    about = {"token": token, "notebook": sheet.notebook, "answers": sheet.answers}
    work = {
        "cells": [cell for cell in sheet.cells if cell[0] not in without],
        "answers": sheet.answers,
        "limits": [limits.memory, limits.disk, limits.processes],
    }
    if together:
        task = json.dumps({**about, **work}).encode()
        ending = sandbox.run(Program("tools.classroom.together", task), limits, protected)
    else:
        task, work = json.dumps(about).encode(), json.dumps(work).encode()
        judge = Program("tools.classroom.judging", task, shown=("notebooks",))
        sheets = Program("tools.classroom.answering", work, hidden=(CHECKS,))
        ending = sandbox.run(judge, limits, protected, partner=sheets)
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
        elif kind == "often":
            number, most = rest
            run.often[number] = most
        elif kind == "stopped":
            run.why = ending.why or rest[0]
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
    if number in run.often:
        return f"not counted: the sheet checks more than {run.often[number]} answers to it"
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
    table = csv.writer(file, delimiter=_separator())
    table.writerow(["learner", *numbers, PASSED, "remarks"])
    for learner, parts in sorted(rows.items()):
        results = {number: why for part in parts for number, why in part.results.items()}
        remarks = "; ".join(remark for part in parts for remark in part.remarks)
        right = list(results.values()).count(PASSED)
        cells = [results.get(number, "no sheet") for number in numbers]
        table.writerow(map(_plain, [learner, *cells, right, _one_line(remarks)]))


def _separator():
    """What spreadsheets here expect between two cells: where numbers have a decimal comma, a ;"""
    before = locale.setlocale(locale.LC_NUMERIC)  # that of C, whatever the machine's is
    try:
        locale.setlocale(locale.LC_NUMERIC, "")
        return ";" if locale.localeconv()["decimal_point"] == "," else ","
    except locale.Error:  # not installed
        return ","
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


def _plain(cell):
    """Text in which a spreadsheet finds no formula, which it would run.

    Not even if it takes another separator for the end of a cell.
    """
    return STARTS_FORMULA.sub(r"\1'", cell) if isinstance(cell, str) else cell
