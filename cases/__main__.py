"""Run the doctor on real models, and write what came out.

python -m cases                 every step whose libraries are here, two at a time
python -m cases NAME ...        only these; prints the doctor's reports
python -m cases --write FILE    also write the page, as make cases does
python -m cases --json FILE     also write everything that was found, as data

The exit code is 1 if the doctor failed, said something untrue or changed anything.
"""

import argparse
import importlib
import json
import multiprocessing
import pkgutil
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from cases.case import Case
from cases.page import figures, page
from cases.real import bugs, healthy
from cases.scores import Score, score
from cases.small import HEALTHY, PATIENTS

LONGEST = 180  # seconds for one step


def load() -> list[str]:
    """Import every module of steps, and those of the tests; returns what is missing, as text."""
    missing = []
    for package in (healthy, bugs):
        for module in pkgutil.iter_modules(package.__path__):
            name = f"{package.__name__}.{module.name}"
            try:
                importlib.import_module(name)
            except ImportError as error:
                missing.append(f"{name}: {error}")
    return missing


def with_a_source() -> dict[str, Case]:
    """What was loaded, without those that follow no example and no thread."""
    steps = {name: case for name, case in HEALTHY.items() if case.source}
    return steps | {name: case for name, case in PATIENTS.items() if case.source}


def run(names: list[str]) -> list[Score]:
    """Each step in a process of its own, which leaves nothing behind."""
    # Forking keeps the imported libraries; the parent computes nothing, so no thread is lost.
    with multiprocessing.get_context("fork").Pool(2, _begin, maxtasksperchild=1) as pool:
        waiting = [(name, pool.apply_async(_score, (name,))) for name in names]
        results = []
        for name, result in waiting:
            try:
                results.append(result.get(LONGEST))
            except multiprocessing.TimeoutError:
                case = with_a_source()[name]
                kind = "healthy" if name in HEALTHY else "bug"
                results.append(Score(name, kind, case.library, crashed=f"over {LONGEST} seconds"))
            print(line(results[-1]), flush=True)
    return results


def _begin():
    torch.set_num_threads(1)


def _score(name):
    return score(with_a_source()[name])


def line(result: Score) -> str:
    """One step in one line."""
    if result.crashed:
        return f"CRASHED  {result.name}: {result.crashed[:150]}"
    if result.kind == "bug":
        marks = {"found": result.found, "line": result.line, "cause": result.cause, "missed": True}
        mark = next(mark for mark, fits in marks.items() if fits)
        return f"{mark:8} {result.name}" + f"  second: {result.second}" * bool(result.second)
    kinds = {"alarms": result.alarms, "untrue": result.untrue, "changed": result.changed}
    bad = "; ".join(f"{len(part)} {kind}: {part[:2]}" for kind, part in kinds.items() if part)
    return f"{'WRONG' if bad else 'quiet':8} {result.name}, {result.lines} lines  {bad}"


def main() -> int:
    arguments = argparse.ArgumentParser(
        "python -m cases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--write", type=Path, metavar="FILE")
    arguments.add_argument("--json", type=Path, metavar="FILE")
    asked = arguments.parse_args()
    for missing in load():
        print(f"left out, {missing}", file=sys.stderr)
    if unknown := sorted({*asked.names} - with_a_source().keys()):
        arguments.error(f"no step with a source is called {', '.join(unknown)}")
    if asked.names and asked.write:
        arguments.error("the page is about all steps: --write goes without names")
    results = run(asked.names or [*with_a_source()])
    if asked.names:
        print(*(result.text for result in results), sep="\n\n")
    if asked.json:
        asked.json.write_text(json.dumps([asdict(result) for result in results], indent=1))
    print(*(f"{count:5} {name}" for name, count in figures(results).items()), sep="\n")
    if asked.write:
        asked.write.write_text(page(results), encoding="utf-8")
    return int(any(result.crashed or result.untrue or result.changed for result in results))


if __name__ == "__main__":
    sys.exit(main())
