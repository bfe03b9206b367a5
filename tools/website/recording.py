"""Run the sections of a notebook that show pictures, and freeze what they show.

Each notebook has a process of its own, because notebooks change settings of torch and matplotlib.
"""

import contextlib
import gc
import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import nbformat
import torch
from ipykernel.compiler import XCachingCompiler
from IPython.core.interactiveshell import InteractiveShell

from autograd_surprises.show.picture import Picture
from helpers.explore import Explorer, freeze
from helpers.explore.freezing import freeze_picture
from tools.notebooks import IGNORED, ROOT, has_picture, sections, setup_cell

KEPT = ROOT / "build" / "site"  # the pictures, until their notebook changes
MADE_FROM = ("helpers", "lessons", "autograd_surprises", "tools/website/recording.py")


class SectionError(Exception):
    """A section does not run after the setup cell alone; the message names it and its cell."""


def shown_by(notebook, wanted: Callable, to_its_end: bool = False) -> Iterator[tuple]:
    """(cell, Explorer or Picture) of the wanted cells, while their section's variables exist.

    A section runs after the setup cell, down to its last wanted cell, or `to_its_end`. Raises
    SectionError if it fails.
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
                raise SectionError(f"{where}, run after the setup cell alone: {error!r}") from error
            plt.close("all")
            if wanted(cell):
                yield cell, made[0]  # an explorer is made before its own picture
    Explorer.__init__, Picture.bundle = init, bundle


def frozen(path: Path) -> dict:
    """{id of a cell: what it shows, for `showFrozen` of strokes.js}, for one notebook."""
    notebook, made = nbformat.read(path, as_version=4), {}
    os.chdir(path.parent)
    for cell, shown in shown_by(notebook, has_picture):
        stored, found = cell.outputs[-1].metadata["image/png"]["alt"], _summary_to_store(shown)
        if found != stored and IGNORED not in cell.metadata.get("tags", ()):
            raise ValueError(
                f"{path.name}, cell {cell.id}: it shows {found!r}, but {stored!r} is stored: run "
                "`make notebooks`"
            )
        made[cell.id] = freeze(shown) if isinstance(shown, Explorer) else freeze_picture(shown)
    return made


def _summary_to_store(shown):
    """What displaying it stores. An explorer may store other values than it starts with."""
    if not isinstance(shown, Explorer):
        return shown.summary
    _, metadata = shown.stored_output()
    return metadata["image/png"]["alt"]


def recorded(notebooks: list[Path]) -> dict[Path, dict]:
    """{notebook: its frozen pictures}, two at a time. Only notebooks that changed are run."""
    KEPT.mkdir(parents=True, exist_ok=True)
    files = {path: KEPT / f"{path.stem}-{_seal(path)}.json" for path in notebooks}
    missing = [(path, file) for path, file in files.items() if not file.exists()]
    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        pool.starmap(_record, missing, chunksize=1)
    for file in {*KEPT.glob("*.json")} - {*files.values()}:
        file.unlink()
    return {path: json.loads(file.read_text(encoding="utf-8")) for path, file in files.items()}


def _record(path, file):
    print(f"{path.name}: running it for its pictures", flush=True)
    matplotlib.use("Agg")  # no windows
    with contextlib.redirect_stdout(sys.stderr):
        file.write_text(json.dumps(frozen(path)), encoding="utf-8")


def _seal(notebook):
    """A hash of everything that its pictures depend on."""
    found = hashlib.sha256(f"{torch.__version__} {matplotlib.__version__}".encode())
    sources = [file for name in MADE_FROM for file in ((ROOT / name), *(ROOT / name).rglob("*"))]
    for file in [notebook, *sorted(sources)]:
        if file.is_file() and file.suffix != ".pyc" and file.name != "lesson_texts.json":
            found.update(file.read_bytes())
    return found.hexdigest()[:16]
