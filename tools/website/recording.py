"""Freeze what notebooks show, and keep it until something changes that it depends on."""

import contextlib
import gc
import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
from tools.notebooks import ROOT, has_picture, sections, setup_cell

KEPT = ROOT / "build" / "site"  # the pictures, until their notebook changes
MADE_FROM = ("helpers", "lessons", "autograd_surprises", "tools")


def recorded(notebooks: list[Path]) -> dict[Path, dict]:
    """{notebook: {id of a cell: what it shows, for `showFrozen` of strokes.js}}.

    Only notebooks that changed are run, two at a time. Each has a process of its own, because
    notebooks change settings of torch and matplotlib.
    """
    KEPT.mkdir(parents=True, exist_ok=True)
    files = {path: KEPT / f"{path.stem}-{_seal(path)}.json" for path in notebooks}
    missing = [(path, file) for path, file in files.items() if not file.exists()]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(_in_a_process, missing))
    for file in {*KEPT.glob("*.json")} - {*files.values()}:
        file.unlink()
    return {path: json.loads(file.read_text(encoding="utf-8")) for path, file in files.items()}


def _in_a_process(work):
    process = multiprocessing.get_context("spawn").Process(target=record, args=work)
    process.start()
    process.join()
    if process.exitcode:  # it has printed why
        raise RuntimeError(f"{work[0].name} cannot be run")


def record(path: Path, file: Path) -> None:
    """Run the sections of a notebook that show pictures, and freeze what they show."""
    print(f"{path.name}: running it for its pictures", flush=True)
    matplotlib.use("Agg")  # no windows
    notebook, made = nbformat.read(path, as_version=4), {}
    os.chdir(path.parent)
    with contextlib.redirect_stdout(sys.stderr):
        for cell, shown in shown_by(notebook, has_picture):
            made[cell.id] = (freeze if isinstance(shown, Explorer) else freeze_picture)(shown)
    file.with_suffix(".new").write_text(json.dumps(made), encoding="utf-8")
    file.with_suffix(".new").replace(file)


def _seal(notebook):
    """A hash of everything that its pictures depend on."""
    found = hashlib.sha256(f"{torch.__version__} {matplotlib.__version__}".encode())
    sources = [file for folder in MADE_FROM for file in sorted((ROOT / folder).rglob("*.*"))]
    for file in [notebook, *sources]:
        if file.is_file() and file.suffix != ".pyc" and file.name != "lesson_texts.json":
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


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
