"""The rulebook: every rule can be reported, and has a test."""

import importlib
import math
import pkgutil
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn

from autograd_surprises import symptoms
from autograd_surprises.doctor import explain, trace
from autograd_surprises.symptoms import flat_rules, loss, nonfinite, partial, tiny, wrong, zero
from autograd_surprises.symptoms.all_rules import all_rules
from autograd_surprises.symptoms.rule import Rule, Rulebook, always
from cases.rule_ids import FILE

ROOT = Path(__file__).parent.parent.parent
MODULES = [
    importlib.import_module(f"{symptoms.__name__}.{module.name}")
    for module in pkgutil.iter_modules(symptoms.__path__)
]
HELD = [value for module in MODULES for value in vars(module).values()]
BOOKS = [book for book in HELD if isinstance(book, Rulebook)]
RULES = [rule for rule in HELD if isinstance(rule, Rule)]
RULES = list({id(rule): rule for rule in [*RULES, *(r for book in BOOKS for r in book)]}.values())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_happened_and_what_helps(rule):
    assert rule.cause and rule.sentence and rule.fix


def test_each_rule_has_an_id_of_its_own_and_a_family_of_one_needs_no_more():
    ids = Counter(rule.id for rule in RULES)
    assert not [name for name, times in ids.items() if times > 1]
    families = Counter(rule.cause for rule in RULES)
    assert all(("/" in rule.id) == (families[rule.cause] > 1) for rule in RULES)


def test_all_rules_are_listed_by_their_ids():
    assert all_rules() == {rule.id: rule for rule in RULES}


def test_a_finding_carries_the_id_of_its_rule():
    finding = Rule("flat/everywhere", "flat", "").finding()
    assert (finding.cause, finding.rule) == ("flat", "flat/everywhere")


# A healthy step fits no rule of the first three; after the others, another book is asked.
MAY_FIT_NOTHING = (
    *(loss.LOSS, wrong.EXPECTED, partial.PARTIAL),
    *(zero.IN_STEPS, tiny.IN_ONE_STEP, nonfinite.TOO_LATE, flat_rules.FLAT),
)


def test_the_last_rule_of_a_book_always_fits():
    for book in BOOKS:
        if book not in MAY_FIT_NOTHING:
            assert (book[-1].when, getattr(book[-1], "on", {"": always})) == (always, {"": always})


def test_a_name_that_the_facts_do_not_have_is_an_error():
    with pytest.raises(AttributeError, match="operation"):
        Rule("flat", "{operation} is flat", "").finding(name="x")


def test_the_first_rule_that_fits_is_used():
    book = Rulebook()
    book.add("one", "", "", when=lambda steps: len(steps) == 1)
    book.add("any", "", "")
    assert book.first(()).cause == "any"
    assert book.first(("step",)).cause == "one"


MASKS = [rule for rule in RULES if "masked_fill" in rule.fix or "finfo" in rule.fix]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("rule", MASKS, ids=lambda rule: rule.id)
def test_the_number_to_mask_with_is_right_in_every_dtype(rule, dtype):
    advice = rule.fix.rpartition(": ")[2]
    scores = torch.tensor([[-50.0, 1.0, 3.0]], dtype=dtype).repeat(3, 1).requires_grad_()
    mask = torch.tensor([[True, False, False], [True, True, True], [False, False, False]])
    masked = eval(advice, {"torch": torch, "scores": scores, "mask": mask})
    p, logp = masked.softmax(-1), masked.log_softmax(-1)
    assert p.isfinite().all() and logp.isfinite().all() and (p * logp).isfinite().all()
    assert not p[0, 0].any() and torch.equal(p[0, 1:], scores[0, 1:].softmax(-1))
    assert p[1].unique().numel() == 1, "a row without anything is uniform"
    (p * logp * torch.arange(3)).sum().backward()
    assert not scores.grad[mask].any() and scores.grad.isfinite().all()


def test_no_two_rules_say_the_same():
    assert len({rule.sentence for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("use, rule, source", [
    (torch.detach, "unused/copied", None), (torch.exp, "dead-branch/loss", "use(weight)"),
])  # fmt: skip
def test_a_copy_that_leads_nowhere_is_not_to_blame(use, rule, source):
    weight = torch.ones(1, requires_grad=True)
    with trace() as t:
        weight.detach()
        use(weight)
        loss = torch.ones(1, requires_grad=True).sum()
    found = t.explain(loss, {"weight": weight})["weight"]
    assert (found.rule, found.where and found.where.source) == (rule, source)


def teacher_without_an_optimizer(held=("student",)):
    """Only explain(loss, model, optimizer=...) knows that nobody trains the teacher."""
    model = nn.ModuleDict({name: nn.Linear(3, 2) for name in ("student", "teacher")})
    optimizer = torch.optim.SGD([{"params": model[name].parameters()} for name in held], lr=0.1)
    x = torch.ones(4, 3)
    with trace() as t:
        with torch.no_grad():
            goal = model["teacher"](x)
        loss = (model["student"](x) - goal).square().mean()
    return t.explain(loss, model, optimizer=optimizer)


def test_what_the_optimizer_does_not_hold_needs_no_gradient():
    report = teacher_without_an_optimizer()
    assert report.healthy and report["teacher.weight"].rule == "not-in-optimizer/left-out"
    assert report["teacher.weight"].status_text == "None (normal)"


@pytest.mark.parametrize("held", [("student", "teacher"), ("teacher",)])
def test_what_the_optimizer_should_train_needs_one(held):
    assert teacher_without_an_optimizer(held)["teacher.weight"].cause == "no-grad"


class StoresAFlag(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.requires_grad, self.unused = False, nn.Parameter(torch.ones(1))


def flag_on_a_module(freeze, layer=nn.Linear, trained=slice(None)):
    """No patient: once the layer is frozen, it has no gradient to compare."""
    with trace() as t:
        model = nn.Sequential(layer(3, 2), nn.Tanh(), nn.Linear(2, 1))
        freeze(model)
        loss = model(torch.ones(1, 3)).sum()
    return t.explain(loss, model, optimizer=torch.optim.SGD(model[trained].parameters()))


def set_a_flag(model):
    model[0].requires_grad = False


def test_a_flag_of_a_module_freezes_nothing():
    report = flag_on_a_module(set_a_flag)
    finding = report["0"]
    assert (finding.status, finding.cause) == ("wrong", "module-flag") and not report.healthy
    assert finding.where.source == "model[0].requires_grad = False"


def test_a_flag_that_a_class_stores_and_never_reads_freezes_nothing():
    report = flag_on_a_module(lambda model: None, layer=StoresAFlag)
    assert report["0"].cause == "module-flag"
    assert report["0"].where.source.startswith("self.requires_grad, ")


def test_a_flag_on_what_no_optimizer_trains_is_no_alarm():
    report = flag_on_a_module(set_a_flag, trained=slice(2, None))
    assert "module-flag" not in [finding.cause for finding in report.findings]


@pytest.mark.parametrize(
    "freeze",
    [
        lambda model: model[0].requires_grad_(False),
        lambda model: (set_a_flag(model), model[0].requires_grad_(False)),
    ],
)
def test_a_module_that_is_frozen_is_no_alarm(freeze):
    assert flag_on_a_module(freeze).healthy


def test_every_rule_has_a_test_that_names_it():
    """Each answer in rule_ids.json and each id in a test is one that the doctor has to give."""
    tests = [path for path in Path(__file__).parent.rglob("*.py")]
    tests = [path for path in tests if path.name != "test_taught_rules.py"]
    expected = "\n".join(path.read_text("utf-8") for path in [*tests, FILE])
    untested = [rule.id for rule in RULES if not re.search(f'[" ]{rule.id}"', expected)]
    assert not untested, "is a case missing? Else: python -m cases.rule_ids"


def test_rows_of_nan_do_not_show_over_which_dimension_a_softmax_ran():
    scores = torch.full((4, 3), math.nan, requires_grad=True)
    loss = nn.functional.cross_entropy(scores, torch.tensor([0, 1, 2, 0]))
    causes = {found.cause for found in explain(loss, {"scores": scores}).findings}
    assert causes and "softmax-dimension" not in causes
