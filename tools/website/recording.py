"""Run the sections of a notebook that show pictures, and freeze what they show.

    python -m tools.website.recording NOTEBOOK FILE

writes {id of a cell: frozen picture} as JSON. It is a process of its own because notebooks change
settings of torch and matplotlib.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["MPLBACKEND"] = "Agg"

import matplotlib.pyplot as plt  # noqa: E402
import nbformat  # noqa: E402
from ipykernel.compiler import XCachingCompiler  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402

from autograd_surprises.show.picture import Picture  # noqa: E402
from helpers.widgets import Explorer, freeze  # noqa: E402
from helpers.widgets.freezing import freeze_picture  # noqa: E402
from tools.notebooks import IGNORED, sections  # noqa: E402


def has_picture(cell) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def shown_by(notebook, wanted: Callable) -> Iterator[tuple]:
    """(cell, Explorer or Picture) of the wanted cells, while the names of each section are there.

    Of a section, only the cells up to the last one that is wanted run, after the setup cell.
    """
    # With a kernel's compiler, reports call a line of a cell what they call it in JupyterLab.
    shell = InteractiveShell.instance(compiler_class=XCachingCompiler)
    bundled, bundle = [], Picture.bundle

    def watched(figure):  # whatever shows a figure stores it, too
        bundled.append(figure)
        return bundle(figure)

    Picture.bundle = watched
    setup = next(cell for cell in notebook.cells if cell.cell_type == "code")
    for _, cells in sections(notebook):
        code = [cell for cell in cells if cell.cell_type == "code" and cell is not setup]
        last = max((k for k, cell in enumerate(code) if wanted(cell)), default=-1)
        if last < 0:
            continue
        shell.reset(new_session=False)
        for cell in [setup, *code[: last + 1]]:
            bundled.clear()
            ran = shell.run_cell(cell.source)
            ran.raise_error()
            plt.close("all")
            if wanted(cell):
                yield cell, ran.result if isinstance(ran.result, Explorer) else bundled[-1]
    Picture.bundle = bundle


def frozen(path: Path) -> dict:
    """{id of a cell: what it shows, for `showFrozen` of strokes.js} of a notebook."""
    notebook, made = nbformat.read(path, as_version=4), {}
    os.chdir(path.parent)
    for cell, shown in shown_by(notebook, has_picture):
        stored = cell.outputs[-1].metadata["image/png"]["alt"]
        if shown.summary != stored and IGNORED not in cell.metadata.get("tags", ()):
            raise ValueError(
                f"{path.name}, cell {cell.id}: it shows {shown.summary!r}, but {stored!r} is "
                "stored: run `make notebooks`"
            )
        made[cell.id] = freeze(shown) if isinstance(shown, Explorer) else freeze_picture(shown)
    return made


if __name__ == "__main__":
    source, target = map(Path.resolve, map(Path, sys.argv[1:]))
    with contextlib.redirect_stdout(sys.stderr):
        made = frozen(source)
    target.write_text(json.dumps(made), encoding="utf-8")
