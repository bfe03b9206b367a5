"""Settings for all tests."""

import gc
import importlib
import os
from pathlib import Path

import pytest
from hypothesis import settings

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

# A slow machine is not a wrong answer, and a failure must be repeatable: the same examples every
# time.
settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")

# Two tests run at a time, and threads that wait for each other are slow. Not torch.set_num_threads:
# the browser tests need no torch, and it takes seconds to import.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def benchmark(monkeypatch):
    """Imports a benchmark by its name. Their folder is no package, and they import each other."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield lambda name: importlib.import_module(f"benchmarks.{name}")
    gc.enable()  # some switch it off
