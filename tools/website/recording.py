"""Freeze what notebooks show, and keep it until something changes that it depends on."""

import contextlib
import hashlib
import json
import multiprocessing
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib
import nbformat
import torch

from helpers.explore import Explorer, freeze
from helpers.explore.freezing import freeze_picture
from tools.notebooks import ROOT, has_picture
from tools.sections import shown_by

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
