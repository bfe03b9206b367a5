"""The answers of the folded solutions."""

import nbformat

from tools.notebooks import notebook_files, sections, setup_cell


def solutions_of(notebook: str) -> dict[str, object]:
    """{exercise: what the solution hands to `check`}, of the notebook with this name."""
    (path,) = (path for path in notebook_files() if path.stem == notebook)
    found = {}
    content = nbformat.read(path, as_version=4)
    for _, cells in sections(content):
        if any(cell.id.endswith("-solution") for cell in cells):
            _collect(setup_cell(content), cells, found)
    return found


def _collect(setup, cells, found):
    names = {}
    exec(setup.source, names)
    names["check"] = lambda number, answer: found.__setitem__(number, answer)
    for cell in cells:
        if cell.cell_type == "code" and "exercise-" in cell.id:
            exec(cell.source, names)
