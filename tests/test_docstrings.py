"""The examples in the docstrings are true, and every public function has one."""

import doctest
import importlib
import inspect
import pkgutil
import warnings

import pytest
import torch

import helpers
from autograd_surprises.doctor import explain, trace

MODULES = [
    module.name
    for module in pkgutil.walk_packages(helpers.__path__, "helpers.")
    if not module.ispkg
    and not module.name.startswith("helpers.lessons.exercises.")  # private checks
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name):
    module = importlib.import_module(name)
    names = {"torch": torch, "warnings": warnings, "explain": explain, "trace": trace}
    result = doctest.testmod(module, extraglobs=names)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_is_described(name):
    module = importlib.import_module(name)
    for label, thing in vars(module).items():
        own = getattr(thing, "__module__", None) == name and not label.startswith("_")
        if own and (inspect.isfunction(thing) or inspect.isclass(thing)):
            assert inspect.getdoc(thing), f"{name}.{label} has no docstring"
