"""Run the sections of a notebook that show pictures, and freeze what they show.

    python -m tools.website.recording NOTEBOOK FILE

writes {id of a cell: frozen picture} as JSON. It is a separate process because notebooks change
settings of torch and matplotlib.
"""

import contextlib
import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
from ipykernel.compiler import XCachingCompiler
from IPython.core.interactiveshell import InteractiveShell

from autograd_surprises.show.picture import Picture
from helpers.widgets import Explorer, freeze
from helpers.widgets.freezing import freeze_picture
from tools.notebooks import IGNORED, sections, setup_cell


def has_picture(cell) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


def shown_by(notebook, wanted: Callable) -> Iterator[tuple]:
    """(cell, Explorer or Picture) of the wanted cells, while their section's variables exist.

    A section runs after the setup cell, and only up to its last wanted cell.
    """
    # With a kernel's compiler, reports name the lines of a cell as they do in JupyterLab.
    shell = InteractiveShell.instance(compiler_class=XCachingCompiler)
    made, init, bundle = [], Explorer.__init__, Picture.bundle

    def watched_init(self, *args, **kwargs):
        init(self, *args, **kwargs)
        made.append(self)

    def watched_bundle(self):  # called each time a picture is shown
        made.append(self)
        return bundle(self)

    Explorer.__init__, Picture.bundle = watched_init, watched_bundle
    setup = setup_cell(notebook)
    for _, cells in sections(notebook):
        code = [cell for cell in cells if cell.cell_type == "code" and cell is not setup]
        last = max((k for k, cell in enumerate(code) if wanted(cell)), default=-1)
        if last < 0:
            continue
        gc.freeze()  # or each reset would search everything that torch imports
        shell.reset(new_session=False)
        for cell in [setup, *code[: last + 1]]:
            made.clear()
            shell.run_cell(cell.source).raise_error()
            plt.close("all")
            if wanted(cell):
                yield cell, made[0]  # an explorer is made before its own picture
    Explorer.__init__, Picture.bundle = init, bundle


def frozen(path: Path) -> dict:
    """{id of a cell: what it shows, for `showFrozen` of strokes.js}, for one notebook."""
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
