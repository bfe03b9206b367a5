"""The examples in the docstrings are true, and every public function has a docstring."""

import doctest
import importlib
import inspect
import pkgutil
import sys
import warnings

import pytest
import torch

import autograd_surprises
import helpers
import lessons
from autograd_surprises import explain, trace

MODULES = [
    module.name
    for package in (autograd_surprises, helpers, lessons)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.ispkg
    and not module.name.endswith(".__main__")
    and not module.name.startswith("lessons.exercises.")  # private checks
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


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # run_script changes sys.path[0]
    module = importlib.import_module(name)
    names = {"torch": torch, "warnings": warnings, "explain": explain, "trace": trace}
    result = doctest.testmod(module, extraglobs=names)
    assert result.failed == 0
    assert result.attempted > 0 or not public(module)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_is_described(name):
    module = importlib.import_module(name)
    assert [name for name, thing in public(module).items() if not inspect.getdoc(thing)] == []
