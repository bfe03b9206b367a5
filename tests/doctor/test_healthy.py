"""The doctor raises no false alarm, and changes nothing: training goes on to the last bit."""

import ast
import collections
import random
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_surprises.doctor import explain, trace
from cases.case import Step
from cases.case import case as register
from cases.claims import noting_blame, seed, untrue
from cases.rule_ids import IS_PINNED, ids, judgement, stored, told_to_step
from cases.small import HEALTHY
from cases.small.short_steps import regression
from cases.unchanged import alone, changed

SCREEN = 40  # lines that fit on one
each_healthy = pytest.mark.parametrize("case", HEALTHY.values(), ids=HEALTHY)
SMALL = {name: case for name, case in HEALTHY.items() if not case.source}
each_small = pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)


def test_each_step_and_bug_has_a_name_of_its_own():
    """Those of other libraries are registered beside ours, where these are installed."""
    made = collections.defaultdict(list)
    for file in (Path(__file__).parents[2] / "cases").rglob("*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            for by in getattr(node, "decorator_list", ()):
                if (text := ast.unparse(by)).startswith("case("):
                    made[bool(by.args) or "cause=" in text].append(node.name)
    for names in made.values():
        assert len(names) > 50
        assert [name for name, times in collections.Counter(names).items() if times > 1] == []


def accept(report, case, updated=False):
    assert report.healthy, str(report)
    said = {(found.status, found.cause) for found in report.findings if found.status != "partial"}
    said.discard(("ok", ""))
    assert said <= case.normal and (updated or said == case.normal), str(report)
    assert len(str(report).splitlines()) <= SCREEN


@each_healthy
def test_with_a_trace_it_says_what_is_true_and_changes_nothing(case):
    found = judgement(case.name)
    assert not (found.alarms or found.untrue or found.changed), found
    assert len(found.said.text.splitlines()) <= SCREEN


@each_healthy
def test_it_is_told_what_stands_in_rule_ids_json(case):
    now, before = told_to_step(case.name), stored()["healthy steps"].get(case.name)
    if not IS_PINNED:
        now, before = ids(now), ids(before)
    assert now == before, "is that right? Then: python -m cases.rule_ids"


@each_small
def test_alone_it_finds_a_healthy_step_healthy_and_changes_nothing(case):
    seed()
    step = case.build()
    accept(explain(step.compute(), step.model), case)
    assert not changed(case.build, alone)


@each_small
def test_the_model_may_be_built_inside_the_trace(case):
    seed()
    with trace() as recording:
        step = case.build()
        optimizer = torch.optim.Adam(step.model.parameters())
        loss = step.compute()
    accept(recording.explain(loss, optimizer, model=step.model, optimizer=optimizer), case)


@each_small
def test_a_whole_step_may_be_traced(case):
    seed()
    step = case.build()
    optimizer = torch.optim.Adam(step.model.parameters())
    with trace() as recording:
        step.compute().backward()
        optimizer.step()
        optimizer.zero_grad()
        loss = step.compute()
    report = recording.explain(loss, step.model, model=step.model, optimizer=optimizer)
    accept(report, case, updated=True)


# ---- The judge itself


def half_dead():
    """A layer whose gradient is 0 where the second relu is off, and nowhere else."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 8), nn.ReLU())
    with torch.no_grad():
        model[2].bias[:4] = -100.0
    return model, torch.randn(16, 4)


def claims(model, batch, blame):
    """What the judge refutes if the doctor blamed the step of this kind for every partial."""
    with noting_blame() as blamed, trace() as t:
        loss = model(batch).sum()
        report = t.explain(loss, model)
    step = next(s for s in report.backward.steps.values() if s.kind == blame)
    blamed.update(dict.fromkeys(blamed, step))
    return untrue(report, loss, Step(model, lambda: loss), blamed)


def test_the_judge_refutes_the_wrong_step():
    assert claims(*half_dead(), blame="Relu") == []
    assert any("2.weight" in said for said in claims(*half_dead(), blame="Sum"))


def test_a_step_that_changes_something_is_noticed():
    def build():
        model, own = nn.Linear(2, 1), random.Random(0)
        model.weight.register_hook(lambda g: own.random() * g)  # once more for the doctor
        return Step(model, lambda: model(torch.ones(1, 2)).sum())

    assert changed(build) == ["parameters", "gradients"]


def test_two_steps_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two cases"):
        register()(regression)


def test_where_a_nan_is_explained_a_checkpoint_that_runs_again_changes_nothing():
    def build():
        block = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())
        model, x = nn.ModuleList([block, nn.Linear(8, 1)]), torch.randn(8, 3)
        return Step(model, lambda: model[1](checkpoint(block, x, use_reentrant=False)).log().sum())

    assert changed(build) == changed(build, alone) == []


def test_a_value_that_is_corrected_by_a_detached_term_is_meant():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    with trace() as t:
        surrogate, value = weight.exp().sum(), weight.abs().sum()
        loss = surrogate + (value - surrogate).detach() + 0.1 * value.detach()
    assert t.explain(loss, {"weight": weight}).healthy


@pytest.mark.parametrize("set_to_none", [True, False])
def test_gradients_are_cleared_late_or_belong_to_another_step(set_to_none):
    with trace() as t:
        generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
        steps = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (critic, generator)]
        for _ in range(3):
            for optimizer, sign in zip(steps, (1, -1), strict=True):
                loss = sign * critic(generator(torch.rand(4, 2))).square().mean()
                optimizer.zero_grad(set_to_none)
                loss.backward()
                optimizer.step()
        for _ in range(2):  # accumulated on purpose
            critic(generator(torch.rand(4, 2))).square().mean().backward()
        loss = critic(generator(torch.rand(4, 2))).square().mean()
    report = t.explain(loss, critic)
    assert "accumulated" not in {found.cause for found in report.findings}
