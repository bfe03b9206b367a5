"""Which exercises this reader has solved, kept in a file of theirs."""

import json
import os
import re
from collections import Counter
from pathlib import Path

from autograd_surprises.facts.toml_data import read_toml
from autograd_surprises.show.table import Table

STATE = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
CHECKED = re.compile(r'^@check_of\(\s*"(\w+)\.\d+"', re.MULTILINE)  # importing them takes longer
FILE = STATE / "autograd_surprises" / "solved.json"


def solved() -> set[str]:
    """The exercises of which `check` has accepted an answer.

    >>> "override_backward.0" in solved()
    False
    """
    try:
        return set(json.loads(FILE.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # there is none yet, or somebody has edited it
        return set()


def remember(exercise: str) -> None:
    """Add an exercise to the file, unless the file cannot be written."""
    try:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(json.dumps(sorted({*solved(), exercise})), encoding="utf-8")
    except OSError:
        return


def progress() -> Table:
    """How many of its exercises are solved, for each notebook that has some, in reading order.

    >>> progress().headings
    ('notebook', 'solved')
    """
    files = Path(__file__).parents[1].glob("*/exercises.py")
    known = Counter(each for file in files for each in CHECKED.findall(file.read_text("utf-8")))
    done = Counter(exercise.rpartition(".")[0] for exercise in solved())
    rows = {}
    for notebook in sorted(read_toml("facts/sections.toml")):
        number, _, lesson = notebook.partition("_")
        if lesson in known:
            name = f"{number} {lesson.replace('_', ' ')}"
            rows[name] = {"solved": f"{done[lesson]} of {known[lesson]}"}
    return Table.of(rows, corner="notebook")
