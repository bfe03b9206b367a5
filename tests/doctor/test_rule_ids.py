"""Each patient, twin, healthy step and reported bug still gets the rules that rule_ids.json has."""

import json

import pytest
from rule_ids import FILE, frozen

ANSWERS = json.loads(FILE.read_text("utf-8"))


@pytest.fixture(scope="module")
def now():
    return frozen()


@pytest.mark.parametrize("group", ANSWERS)
def test_the_rules_that_fit_are_the_same(now, group):
    changed = {
        name: (ANSWERS[group].get(name), now[group].get(name))
        for name in ANSWERS[group].keys() | now[group].keys()
        if ANSWERS[group].get(name) != now[group].get(name)
    }
    assert not changed, "if this is what you want: python tests/doctor/rule_ids.py"
