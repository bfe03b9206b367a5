"""The list of faults to plant still fits the code; tests/planted_faults.py plants them."""

from planted_faults import misfits, planted


def test_each_fault_fits_its_file_once():
    assert misfits(planted()) == []


def test_a_fault_that_fits_nowhere_is_noticed():
    fault = {"file": "README.md", "find": "no such text", "tests": ["tests/gone"]}
    times, missing = misfits({"mine": fault})
    assert times.startswith("mine: README.md has its text 0 times") and "tests/gone" in missing
