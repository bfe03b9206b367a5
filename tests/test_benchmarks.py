"""One short turn of each benchmark. Nothing is said about speed: `make bench` has the real run.

Libraries that are not installed here are left out by name. What explorer.py measures in a browser
is tried in tests/browser.
"""

import itertools
import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
FEW = {100: 1, 200: 1, 300: 1}  # elements: calls
SHORT = {
    "cards": {"compile": False},
    "doctor": {"turns": 1, "chains": {2: 1, 4: 1}, "layers": 1},
    "functions": {"arguments": [], "rounds": 2, "calls": FEW},
    "operators": {"cpp": False, "calls": FEW},
}


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


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # other libraries warn when they are imported
@pytest.mark.parametrize("name", SHORT)
def test_a_short_turn(benchmark, capsys, name):
    benchmark(name).main(**SHORT[name])
    said = capsys.readouterr().out
    if name == "cards":
        assert "lsq_quantize, ours\nreport card of" in said
    elif name == "operators":
        assert {*json.loads(said)["cards"]} == {"Function", "Function with jvp", "custom_op"}
    else:
        check_tables(said)
