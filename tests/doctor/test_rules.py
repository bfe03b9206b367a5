"""The rulebook: every rule can be told, is taught somewhere, and is reached by a test."""

import importlib
import pkgutil
from pathlib import Path

import pytest

from autograd_surprises.doctor import rules
from autograd_surprises.doctor.rules.rule import Named, Rule, Rulebook
from autograd_surprises.doctor.rules.zeros import ZERO
from autograd_surprises.doctor.steps import GradientSum
from tests.test_links import anchor_complaint

ROOT = Path(__file__).parent.parent.parent
MODULES = [
    importlib.import_module(f"{rules.__name__}.{module.name}")
    for module in pkgutil.iter_modules(rules.__path__)
]
HELD = [value for module in MODULES for value in vars(module).values()]
BOOKS = [book for book in HELD if isinstance(book, Rulebook)]
RULES = [rule for rule in HELD if isinstance(rule, Rule)]
RULES = list({id(rule): rule for rule in [*RULES, *(r for book in BOOKS for r in book)]}.values())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.cause)
def test_the_section_that_teaches_a_rule_exists(rule):
    if rule.section:
        notebook, _, anchor = rule.section.partition("#")
        assert anchor_complaint(anchor, ROOT / "notebooks" / notebook) is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.cause)
def test_a_rule_says_what_happened_and_what_helps(rule):
    assert rule.cause and rule.sentence and rule.fix
    assert rule.sentence[0].islower() or rule.sentence[0] in ".0{" or rule.sentence[:3] == "nn."


def test_a_name_that_the_facts_do_not_have_is_an_error():
    with pytest.raises(AttributeError, match="operation"):
        Rule("flat", "{operation} is flat", "").finding(Named("x"))


def test_the_first_rule_that_fits_tells():
    book = Rulebook(Rule)
    book.add("one", "", "", when=lambda total: len(total.steps) == 1)
    book.add("any", "", "")
    assert book.first(GradientSum()).cause == "any"
    assert book.first(GradientSum(("step",))).cause == "one"


def test_two_stories_of_one_cause_are_two_rules():
    assert len({rule.sentence for rule in RULES}) == len(RULES)
    assert [rule.cause for rule in ZERO].count("zero-factor") == 3


def test_every_rule_is_in_a_test():
    text = "".join(path.read_text("utf-8") for path in Path(__file__).parent.rglob("*.py"))
    unseen = {rule.cause for rule in RULES if f'"{rule.cause}"' not in text}
    assert not unseen - {"unknown-nonfinite"}, "write a few lines that reach it"
