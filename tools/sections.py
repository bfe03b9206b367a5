"""Run the sections of a notebook, each after the setup cell alone."""

import gc
from collections.abc import Callable, Iterator

import matplotlib.pyplot as plt
from ipykernel.compiler import XCachingCompiler
from IPython.core.interactiveshell import InteractiveShell

from autograd_surprises.show.picture import Picture
from helpers.explore import Explorer
from tools.notebooks import sections, setup_cell


def shown_by(notebook, wanted: Callable, to_its_end: bool = False) -> Iterator[tuple]:
    """(cell, Explorer or Picture) of the wanted cells, while their section's variables exist.

    A section runs after the setup cell, down to its last wanted cell, or `to_its_end`. Raises
    RuntimeError, which names section and cell, if it fails.
    """
    # With a kernel's compiler, reports name the lines of a cell as they do in JupyterLab.
    shell = InteractiveShell.instance(compiler_class=XCachingCompiler)
    made, init, bundle = [], Explorer.__init__, Picture.bundle

    def watched_init(self, *args, **kwargs):
        init(self, *args, **kwargs)
        made.append(self)

    def watched_bundle(self, *below):  # called each time a picture is shown
        made.append(self)
        return bundle(self, *below)

    Explorer.__init__, Picture.bundle = watched_init, watched_bundle
    setup = setup_cell(notebook)
    for heading, cells in sections(notebook):
        code = [cell for cell in cells if cell.cell_type == "code" and cell is not setup]
        last = max((k for k, cell in enumerate(code) if wanted(cell)), default=-1)
        if last < 0:
            continue
        gc.freeze()  # or each reset would search everything that torch imports
        shell.reset(new_session=False)
        for cell in [setup, *(code if to_its_end else code[: last + 1])]:
            made.clear()
            result = shell.run_cell(cell.source)
            if error := result.error_before_exec or result.error_in_exec:
                where = f"section {heading!r}, cell {cell.id}"
                raise RuntimeError(f"{where}, run after the setup cell alone: {error!r}") from error
            plt.close("all")
            if wanted(cell):
                yield cell, made[0]  # an explorer is made before its own picture
    Explorer.__init__, Picture.bundle = init, bundle
