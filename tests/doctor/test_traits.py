"""The table of torch's operations: each row is a kind of node that torch has, and is true."""

from collections import Counter
from dataclasses import fields
from inspect import getsource

import pytest
import torch
from test_rules import RULES
from torch.nn.modules._functions import BackwardHookFunction

from autograd_surprises.backward.steps import kind_of
from autograd_surprises.facts.operations import CALLS, KINDS, SPOILS, TABLE, Traits, kind_made_by
from autograd_surprises.symptoms.rule import StepRule

IN_TORCH = {kind_of(name) for name in dir(torch._C._functions)}
IN_TORCH |= {BackwardHookFunction.__name__, "CompiledFunction"}  # classes written in Python
TRAITS = {field.name for field in fields(Traits)} | {
    name for name, value in vars(Traits).items() if isinstance(value, property)
}
STEP_RULES = [rule for rule in RULES if isinstance(rule, StepRule)]

needs_this_torch = pytest.mark.skipif(
    not torch.__version__.startswith("2.13"), reason="older versions lack some kinds"
)


@needs_this_torch
def test_each_kind_is_one_of_torch():
    assert set(KINDS) <= IN_TORCH, set(KINDS) - IN_TORCH


def test_no_kind_has_two_rows_and_no_two_rows_are_the_same():
    assert not [kind for kind, n in Counter(" ".join(TABLE).split()).items() if n > 1]
    assert not [kinds for kinds, n in Counter(TABLE.values()).items() if n > 1]


def test_each_trait_is_documented_and_some_kind_has_it():
    lines = getsource(Traits).splitlines()
    for field in fields(Traits):
        place = next(i for i, line in enumerate(lines) if line.startswith(f"    {field.name}: "))
        above = lines[place - 1]
        assert "  # " in lines[place] or (above.startswith("    # ") and above.endswith("."))
        assert any(getattr(traits, field.name) != field.default for traits in KINDS.values())


def test_each_call_of_the_second_table_is_noted_by_a_recording():
    assert set(CALLS) <= {kind_made_by(name) for name in SPOILS}


@needs_this_torch
def test_a_rule_asks_for_traits_and_for_kinds_that_exist():
    asked = {name for rule in STEP_RULES for names in rule.on for name in names.split()}
    unknown = asked - TRAITS - IN_TORCH - {kind_made_by(name) for name in SPOILS}
    assert not unknown
    assert len(asked & TRAITS) > 20
