"""The notebooks without solutions and without outputs, for a class."""

import re
import shutil
from pathlib import Path

import nbformat

from tools.notebooks import OUTPUTS_HIDDEN, ROOT, is_solution, notebook_files, stored_text

PAGE = re.compile(r"\]\(\.\./([\w./]+\.md)")  # a link from notebooks/ to a page outside
OFFER = re.compile(r"[^.!?\n<>]*(?:folded solution|solution is folded)[^.!?\n<>]*[.!?]")


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
    """The notebook without solutions and without outputs, in place.

    All outputs are removed, not only those of exercises: any cell may answer the question above
    it, and a learner who runs the cell gets the output back.
    """
    notebook.cells = [cell for cell in notebook.cells if not is_solution(cell)]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("seal", None)  # the hash of an output
            cell.metadata.get("jupyter", {}).pop(OUTPUTS_HIDDEN, None)
        else:
            cell.source = OFFER.sub("", cell.source)
    return notebook
