"""A returned sheet: whose it is, and which of its cells to run."""

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.notebooks import is_solution, notebook_files, sections, task_of

LARGEST = 20_000_000  # bytes; our largest notebook has less than a tenth of that
MOST_CELLS = 2000  # ours have 110 at most
CHECK = re.compile(r"""\bcheck\(\s*["'](\d\d\.\d+)["'](?:, *(\w+)\))?""")
COPY = re.compile(r" *\(\d+\)|-Copy\d+")  # what browsers and JupyterLab add to a name


class Unreadable(Exception):
    """Not a sheet of this course; the message says what it is instead."""


@dataclass(frozen=True)
class Sheet:
    """A returned notebook.

    learner    the name in the file's name, else the folder's name
    notebook   which of our notebooks it is
    answers    exercise -> the name that our stub gives to the answer
    cells      (position, source) of the code cells to run
    exercises  position of a cell -> the exercise that it belongs to
    remarks    what a teacher may want to know of it
    """

    learner: str
    notebook: str
    answers: dict[str, str]
    cells: list[tuple[int, str]]
    exercises: dict[int, str]
    remarks: tuple[str, ...] = ()


def learner_of(path: Path) -> str:
    """The file's name without our notebook's; if nothing is left, the folder's name."""
    name = COPY.sub("", path.stem)
    for ours in _our_notebooks():
        name = name.replace(ours, "")
    return name.strip(" -_.") or path.absolute().parent.name


def read_sheet(path: Path) -> Sheet:
    """The sheet in a file; raises Unreadable with the reason."""
    notebook = _read(path)
    sources = {_text(cell) for cell in notebook.cells}
    ours = _our_notebooks()
    alike = {name: len(sources & known) for name, (known, _, _) in ours.items()}
    name = max(alike, key=alike.get)
    if not alike[name]:
        raise Unreadable("contains no cell of our notebooks")
    known, solutions, answers = ours[name]
    position = {id(cell): i for i, cell in enumerate(notebook.cells, 1)}
    cells, exercises, remarks = [], {}, []
    for heading, group in sections(notebook):
        number = ""
        code = [cell for cell in group if cell.cell_type == "code"]
        # Each section needs only the first cells before it, and an unchanged one has no answer.
        wanted = not heading or any(
            CHECK.search(cell.source) or _text(cell) not in known for cell in code
        )
        for cell in group:
            if task := task_of(cell):
                number = task.number
            elif cell.cell_type == "code":
                found = CHECK.search(cell.source)
                number = found[1] if found else number
                if wanted and not is_solution(cell):
                    if _text(cell) in solutions:
                        remarks.append(f"cell {position[id(cell)]} is word for word our solution")
                    cells.append((position[id(cell)], cell.source))
                    exercises[position[id(cell)]] = number
    return Sheet(learner_of(path), name, answers, cells, exercises, tuple(remarks))


def _read(path):
    if not path.is_file():
        raise Unreadable("is not a file")
    if path.stat().st_size > LARGEST:
        raise Unreadable(f"is too large for a sheet: {path.stat().st_size / 1e6:,.0f} MB")
    if not path.stat().st_size:
        raise Unreadable("is empty")
    # Not with nbformat: its checks of a file with many odd outputs take hours.
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        kinds = [(each["cell_type"], "".join(each["source"]), _tags(each)) for each in cells]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        line = str(error).partition("\n")[0][:100]
        raise Unreadable(f"is not a notebook: {type(error).__name__}: {line}") from None
    if len(kinds) > MOST_CELLS:
        raise Unreadable(f"has {len(kinds):,} cells, too many for a sheet")
    cells = [
        NotebookNode(cell_type=kind, source=source, metadata={"tags": tags})
        for kind, source, tags in kinds
    ]
    return NotebookNode(cells=cells)


def _tags(cell):
    """Its tags; whatever else stands there instead counts as none."""
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return tags if isinstance(tags, list) else []


def _text(cell):
    return cell.source.strip()


@functools.cache
def _our_notebooks():
    """name -> (the texts of its cells, those of its solutions, {exercise: name of the answer})"""
    found = {}
    for path in notebook_files():
        cells = nbformat.read(path, as_version=4).cells
        stubs = [cell for cell in cells if not is_solution(cell)]
        found[path.stem] = (
            {_text(cell) for cell in stubs},
            {_text(cell) for cell in cells if is_solution(cell)},
            dict(match for cell in stubs for match in CHECK.findall(cell.source)),
        )
    return found
