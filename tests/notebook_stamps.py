"""A notebook that has passed runs again when it changes, or something that its cells reach."""

import hashlib
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

from tools.notebooks import ROOT, lesson_of, notebook_files

KEPT = "notebooks/passed"  # in pytest's cache: {name: seal}
ENVIRONMENT = ("conftest.py", "pyproject.toml", "constraints.txt")
PACKAGES = ("autograd_surprises", "helpers", "lessons")
# A dotted name that begins with one of the packages, and what is imported from it.
NAMED = re.compile(rf"\b((?:{'|'.join(PACKAGES)})[\w.]*)(?: import (\([^)]*\)|.*))?")
OF_ALL_NOTEBOOKS = "lesson_texts.json"  # for the search; it changes with each of them


class Stamps:
    """In the process that controls the tests: which notebooks they leave out, and which passed.

    CI leaves out none, nor does whoever names one, or runs each cell twice.
    """

    def __init__(self, config):
        self._cache, self._passed = config.cache, defaultdict(set)
        self._seals = {path.name: seal(path) for path in notebook_files()}
        asked = any(".ipynb" in argument for argument in config.args)
        twice = "not slow" not in config.option.markexpr
        kept = {} if os.environ.get("CI") or asked or twice else config.cache.get(KEPT, {})
        self.unchanged = [name for name, found in self._seals.items() if kept.get(name) == found]

    @pytest.hookimpl(optionalhook=True)  # without xdist, there is no such hook
    def pytest_configure_node(self, node):
        node.workerinput["unchanged"] = self.unchanged

    def pytest_report_header(self):
        return f"notebooks left out, unchanged since they passed: {len(self.unchanged)}"

    def pytest_runtest_logreport(self, report):
        file, _, cell = report.nodeid.partition("::")
        if report.when == "call" and report.passed and file.endswith(".ipynb"):
            self._passed[Path(file).name].add(cell)

    def pytest_sessionfinish(self):
        passed = self._cache.get(KEPT, {})
        for path in notebook_files():
            cells = path.read_text(encoding="utf-8").count('"cell_type": "code"')
            if len(self._passed[path.name]) == cells:
                passed[path.name] = self._seals[path.name]
        self._cache.set(KEPT, passed)


def seal(notebook: Path) -> str:
    """A hash of what a notebook's outputs depend on."""
    found = hashlib.sha256(f"{sys.version} {version('torch')}".encode())
    for file in [notebook, *sorted(reached(notebook)), *_data()]:
        found.update(_read(file))
    return found.hexdigest()


def reached(notebook: Path) -> set[Path]:
    """The modules that its cells name, those of its lesson, and all that these name in turn."""
    new = {*named_in(notebook), *(ROOT / "lessons" / lesson_of(notebook)).glob("*.py")}
    found = set()
    while new:
        found |= new
        new = {other for file in new for other in named_in(file)} - found
    return found


def not_reached(notebook: Path, imported: Iterable[Path]) -> list[str]:
    """Those of our modules that a change would not run the notebook for."""
    ours = (file for file in imported if any(file.is_relative_to(ROOT / p) for p in PACKAGES))
    return sorted(str(file.relative_to(ROOT)) for file in {*ours} - reached(notebook))


@cache
def named_in(file: Path) -> set[Path]:
    """The modules that a file names. One that imports by name may import each of its folder."""
    text = _read(file).decode()
    found = {*file.parent.glob("*.py")} if "import_module" in text else set()
    for name, imported in NAMED.findall(text):
        for word in ["", *re.findall(r"\w+", imported)]:
            found |= _on_the_way([*name.split("."), word])
    return found


def _on_the_way(parts):
    """The packages and the module that an import of this name runs, and what `-m` runs."""
    found = set()
    for k in range(1, len(parts) + 1):
        path = ROOT.joinpath(*parts[:k])
        found |= {path / "__init__.py", path.parent / f"{path.name}.py"}
    if parts[1:] == [""]:
        found.add(ROOT / parts[0] / "__main__.py")
    return {file for file in found if file.exists()}


@cache
def _data():
    """Other files of the packages, and what the environment is made of."""
    files = [file for name in PACKAGES for file in sorted((ROOT / name).rglob("*.*"))]
    wanted = [f for f in files if f.suffix not in (".py", ".pyc") and f.name != OF_ALL_NOTEBOOKS]
    return [*(ROOT / name for name in ENVIRONMENT), *wanted]


@cache
def _read(file):
    return file.read_bytes()
