"""Imports point down: between packages, between their folders, and in no folder in a circle."""

import ast
import functools
import os
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tools.notebooks import lesson_of, notebook_files

ROOT = Path(__file__).parent.parent
# What is in a folder, from the lowest to the highest. In other folders, any order will do.
ORDER = {
    "": ["autograd_surprises", "helpers", "lessons"],
    "autograd_surprises": [
        *("numerics", "facts", "recording", "backward", "messages", "show", "symptoms", "doctor"),
        *("report_card", "comparing", "atlas", "__init__", "command", "__main__"),
    ],
    "helpers": ["functions", "curves", "explore", "__init__"],
}


def files():
    return sorted(file for name in ORDER[""] for file in (ROOT / name).rglob("*.py"))


def imports(file):
    """[(line, dotted name)] of all imports of these packages, in functions too."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: write the whole name of the module"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.partition(".")[0] in ORDER[""]]


def module(name):
    """The path of the module that a dotted name begins with, as a list."""
    parts = name.split(".")
    while not (ROOT.joinpath(*parts).is_dir() or ROOT.joinpath(*parts).with_suffix(".py").exists()):
        parts.pop()
    return parts if ROOT.joinpath(*parts).with_suffix(".py").exists() else [*parts, "__init__"]


@functools.cache
def arrows():
    """{folder: {(importing, imported): [place of the import]}}, between what is in that folder."""
    found = defaultdict(lambda: defaultdict(list))
    for file in files():
        path = file.relative_to(ROOT)
        own = [*path.with_suffix("").parts]
        for line, name in imports(file):
            other = module(name)
            shared = len(os.path.commonprefix([own, other]))
            pair = own[shared], other[shared]
            found["/".join(own[:shared])][pair].append(f"{path.as_posix()}:{line}: imports {name}")
    return found


def circle(pairs):
    """The pairs of (importing, imported) along one circle, if there is one."""
    sorter = TopologicalSorter()
    for importing, imported in pairs:
        sorter.add(importing, imported)
    try:
        sorter.prepare()
    except CycleError as error:
        around = error.args[1]
        return list(zip(around[1:], around, strict=False))
    return []


def upward_imports():
    """Each import that points up or is part of a circle, or between what ORDER does not list."""
    found = []
    for folder, places in arrows().items():
        if folder in ORDER:
            rank = {name: place for place, name in enumerate(ORDER[folder])}
            wrong = [(a, b) for a, b in places if rank.get(a, -1) <= rank.get(b, len(rank))]
        else:
            wrong = circle(places)
        found += [place for pair in wrong for place in places[pair]]
    return found


def test_imports_point_down():
    wrong = upward_imports()
    assert not wrong, "\n".join(wrong)


def test_a_lesson_imports_no_other_lesson():
    """And nothing that all of them share imports one."""
    lessons = {lesson_of(path) for path in notebook_files()}
    between = arrows()["lessons"]
    assert [place for (_, used), place in between.items() if used in lessons] == []


def test_no_file_is_longer_than_400_lines():
    folders = *ORDER[""], "tools", "cases", "tests", "benchmarks"
    every = [file for name in folders for file in (ROOT / name).rglob("*.py")]
    assert [file for file in every if file.read_text("utf-8").count("\n") > 400] == []
