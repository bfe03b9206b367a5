"""Every file and public function has a docstring, and the examples in docstrings are true."""

import doctest
import importlib
import inspect
import sys
import warnings
from pathlib import Path

import pytest
import torch

import autograd_surprises
import helpers
import lessons
from autograd_surprises import explain, trace
from tools.notebooks import ROOT

PACKAGES = autograd_surprises, helpers, lessons
FILES = [file for package in PACKAGES for file in sorted(Path(package.__path__[0]).rglob("*.py"))]
MODULES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in FILES
    if file.stem not in ("__init__", "__main__", "exercises")  # whose checks are private
]


def public(module):
    """Its functions and classes, by name, without what it imports."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == module.__name__
        and not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing))
    }


@pytest.mark.slow  # other tests run the same code
@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # run_script changes sys.path[0]
    module = importlib.import_module(name)
    names = {"torch": torch, "warnings": warnings, "explain": explain, "trace": trace}
    result = doctest.testmod(module, extraglobs=names)
    assert result.failed == 0
    assert result.attempted > 0 or not public(module)


def test_every_public_function_is_described():
    found = {name: public(importlib.import_module(name)) for name in MODULES}
    things = {f"{name}.{each}": thing for name in found for each, thing in found[name].items()}
    assert [name for name, thing in things.items() if not inspect.getdoc(thing)] == []
