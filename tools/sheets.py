"""Write student/: the notebooks for a class, without solutions and outputs.

    python -m tools.sheets

nbgrader takes the sheets as they are: a locked cell below each answer is worth one point.
"""

import re
import shutil
from pathlib import Path

import nbformat

from tools.notebooks import OUTPUTS_HIDDEN, ROOT, is_solution, notebook_files, stored_text

PAGE = re.compile(r"\]\(\.\./([\w./]+\.md)")  # a link from notebooks/ to a page outside
OFFER = re.compile(r"[^.!?\n<>]*(?:folded solution|solution is folded)[^.!?\n<>]*[.!?]")
CHECK = re.compile(r'^check\("(\w+\.\d+)"', re.MULTILINE)
POINT = """\
# For nbgrader: one point if the check above has passed.
from lessons.asking.checking import passed

assert "{number}" in passed, "the check of {number} has not passed"\
"""


def write_sheets(folder: Path) -> list[Path]:
    """Write a sheet for each notebook, and the pages that they link to, in the project's layout.

    Replaces what an earlier call wrote. Files with other names stay, such as a learner's copies.
    """
    sheets, pages = folder / "notebooks", set()
    sheets.mkdir(parents=True, exist_ok=True)
    for path in notebook_files():
        sheet = make_sheet(nbformat.read(path, as_version=4))
        for cell in sheet.cells:
            pages.update(PAGE.findall(cell.source))
        (sheets / path.name).write_text(stored_text(sheet), encoding="utf-8", newline="\n")
    for page in sorted(pages):
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / page, folder / page)
    return [sheets / path.name for path in notebook_files()]


def make_sheet(notebook):
    """The notebook without solutions and without outputs, in place, with a point for each answer.

    All outputs are removed, not only those of exercises: any cell may answer the question above
    it, and a learner who runs the cell gets the output back.
    """
    cells, notebook.cells = notebook.cells, []
    for cell in cells:
        if is_solution(cell):
            continue
        notebook.cells.append(cell)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.get("jupyter", {}).pop(OUTPUTS_HIDDEN, None)
            notebook.cells += map(point_for, CHECK.findall(cell.source))
        else:
            cell.source = OFFER.sub("", cell.source)
    return notebook


def point_for(number: str):
    """A cell that fails unless the exercise has passed; the learner's Run All goes on after it."""
    lesson, _, position = number.partition(".")
    about = {"grade": True, "locked": True, "solution": False, "points": 1, "cell_type": "code"}
    nbgrader = {"schema_version": 3, "grade_id": f"{lesson}-{position}", **about}
    metadata = {"tags": ["raises-exception"], "editable": False, "deletable": False}
    metadata["nbgrader"] = nbgrader
    source, cell_id = POINT.format(number=number), f"exercise-{position}-point"
    return nbformat.v4.new_code_cell(source, id=cell_id, metadata=metadata)


if __name__ == "__main__":
    print(f"{len(write_sheets(Path('student')))} sheets in student/notebooks")
