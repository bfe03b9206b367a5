"""One short turn of each benchmark. Nothing is said about speed: `make bench` has the real run.

Libraries that are not installed here are left out by name. explorer.py is tried in tests/browser.
"""

import gc
import importlib
import itertools
import sys
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
FEW = {100: 1, 200: 1, 300: 1}  # elements: calls
SHORT = {
    "arithmetic": {"visits": 1, "calls": FEW},
    "backward": {"rounds": 2, "turns": 1},
    "cards": {"compile": False},
    "doctor": {"turns": 1, "chains": {2: 1, 4: 1}},
    "functions": {"arguments": [], "rounds": 2, "calls": FEW},
}


@pytest.fixture
def load(monkeypatch):
    """Imports a benchmark. Their folder is no package, and they import each other."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield lambda name: importlib.import_module(f"benchmarks.{name}")
    gc.enable()  # some switch it off


def check_tables(said):
    """Each row has as many cells as its head, and no figure is missing."""
    blocks = itertools.groupby(said.splitlines(), key=lambda line: line.startswith("|"))
    tables = [list(lines) for is_table, lines in blocks if is_table]
    assert tables
    for head, _, *rows in tables:
        assert rows, f"nothing below {head}"
        for row in rows:
            assert row.count("|") == head.count("|"), f"{row} below {head}"
            assert "nan" not in row


def test_no_benchmark_is_forgotten():
    scripts = {path.stem for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text()}
    assert scripts == SHORT.keys() | {"steps", "explorer"}


# other libraries warn when they are imported
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", SHORT)
def test_a_short_turn(load, capsys, name):
    load(name).main(**SHORT[name])
    said = capsys.readouterr().out
    if name == "cards":
        assert "lsq_quantize, ours\nreport card of" in said
    else:
        check_tables(said)


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
@pytest.mark.filterwarnings("default")
def test_a_short_turn_of_steps(load, capsys, monkeypatch):
    steps = load("steps")
    small = torch.nn.Linear(8, 8), (torch.ones(1, 8),)
    monkeypatch.setattr(steps, "CASES", {"small": lambda: small})
    # not in a process of its own, where it would take seconds to import torch
    monkeypatch.setattr(steps, "memory_of_a_process", lambda *asked: 1 + steps.memory(*asked))
    steps.main([], turns=1)
    check_tables(capsys.readouterr().out)


def test_a_real_run_needs_its_peers(load):
    with pytest.raises(SystemExit, match=r"left out: no_such_library \(not installed\).*\[peers\]"):
        load("installed").need(["torch", "no_such_library"], "peers")
