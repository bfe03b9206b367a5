"""Hand out sheets without solutions, and score the returned sheets.

    python -m tools.classroom student [FOLDER]
    python -m tools.classroom score [--unprotected] FILE_OR_FOLDER ...

`student` writes the sheets to student/. `score` writes scores.csv.
"""

import argparse
import os
import sys
from pathlib import Path

from tools.classroom.handing_out import write_sheets
from tools.classroom.sandbox import Limits, SandboxError, why_unprotected
from tools.classroom.scoring import PASSED, find_files, score_files, write_table

NOT_PROTECTED = """\
These sheets are other people's programs, and nothing here keeps them away from your files and the
network: {why}.
- Linux: install bubblewrap (apt install bubblewrap, dnf install bubblewrap).
- Elsewhere: score them in a virtual machine or a container that holds nothing of yours, with
  make score FILES=… ARGS=--unprotected
"""


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.classroom", description=__doc__.partition("\n")[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    student = commands.add_parser("student", help="write sheets without solutions")
    student.add_argument("folder", nargs="?", type=Path, default=Path("student"))
    score = commands.add_parser("score", help="run returned sheets, and write scores.csv")
    score.add_argument("files", nargs="*", metavar="FILE_OR_FOLDER")
    score.add_argument("--unprotected", action="store_true", help="run without bubblewrap")
    given = parser.parse_args(arguments)
    if given.command == "student":
        written = write_sheets(given.folder)
        print(f"{len(written)} sheets in {given.folder}/notebooks")
        return 0
    return _score(given.files, given.unprotected)


def _score(files, unprotected):
    why = why_unprotected()
    if why and not unprotected:
        print(NOT_PROTECTED.format(why=why), end="", file=sys.stderr)
        return 1
    try:
        paths = find_files(files)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    scores = []

    def store(known):
        scores[:] = known
        _store(known)
        _show_progress(len(known), len(paths))

    try:
        score_files(paths, Limits(), not unprotected, store)
    except SandboxError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\ninterrupted: {len(scores)} of {len(paths)} files scored", file=sys.stderr)
    passed = sum(result == PASSED for score in scores for result in score.results.values())
    if scores:
        print(f"scores.csv: {passed} exercises passed in {len(scores)} files")
    return 0 if len(scores) == len(paths) else 130


def _store(scores):
    """Write scores.csv, whole at each moment."""
    # -sig: for Excel. A stranger's text may have what no encoding has.
    about = {"encoding": "utf-8-sig", "errors": "backslashreplace", "newline": ""}
    with open("scores.csv.part", "w", **about) as file:
        write_table(scores, file)
    os.replace("scores.csv.part", "scores.csv")


def _show_progress(done, count):
    if sys.stderr.isatty():
        bar = "█" * (30 * done // count)
        print(f"\r{bar:░<30} {done} of {count}", end="\n" * (done == count), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
