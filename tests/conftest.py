"""Settings for all tests."""

import gc
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent

# A slow machine is not a wrong answer, and a failure must be repeatable: the same examples every
# time. Once a week, CI looks at others; a failure then prints how to repeat it.
settings.register_profile("project", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, print_blob=True, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))


@pytest.fixture(autouse=True, scope="module")
def young_heap():
    """Each file starts with few objects to look through, for the collector and for `watch`."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """IPython and `run_script` replace it, and each process that a test starts looks into it."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture
def inductor(monkeypatch):
    """Inductor for this processor: what it writes for ATEN_CPU_CAPABILITY=default may not compile.

    torch itself reads that variable once, and keeps to it.
    """
    importlib.import_module("torch").backends.cpu.get_cpu_capability()
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)


@pytest.fixture(scope="session")
def moved_explorers(tmp_path_factory):
    """The folder that notebook_pictures.py has written: all notebooks, and some with a fault."""
    from sample_notebooks import EXPECTED, WITH_A_FAULT, WITHOUT_FAULT, write

    from tools.notebooks import notebook_files  # other tests need no notebook

    folder, samples = map(tmp_path_factory.mktemp, ("moved_explorers", "samples"))
    planted = [write(samples, {name: cells}, name) for name, cells in WITH_A_FAULT.items()]
    planted.append(write(samples, WITHOUT_FAULT, "without_fault"))
    expected = samples / "expected.toml"
    known = (TESTS / "explorers.toml").read_text(encoding="utf-8")
    expected.write_text(known + EXPECTED, encoding="utf-8")
    runner = [sys.executable, TESTS / "notebook_pictures.py", folder, expected]
    done = subprocess.run(
        [*runner, *notebook_files(), *planted], capture_output=True, text=True, timeout=3600
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder
