"""The steps and bugs that need only torch; `make real` runs the others."""

import importlib
import pkgutil
import random

import pytest
import torch
from torch import nn

from autograd_surprises.doctor import trace
from real import bugs, healthy, scores
from real.judging import noting_blame, untrue
from real.step import BUGS, HEALTHY, Step
from real.step import healthy as register

for package in (healthy, bugs):
    for module in pkgutil.iter_modules(package.__path__):
        if package is bugs or module.name.startswith("torch_alone"):
            importlib.import_module(f"{package.__name__}.{module.name}")

STEPS = {name: case for name, case in HEALTHY.items() if case.library == "torch"}
FAULTS = {name: case for name, case in BUGS.items() if case.library == "torch"}


@pytest.mark.parametrize("name", STEPS)
def test_a_healthy_step_is_found_healthy_and_left_as_it_was(name):
    result = scores.score(STEPS[name])
    assert not result.crashed
    assert not (result.alarms or result.untrue or result.changed), result.text
    assert result.lines <= scores.SCREEN, result.text


@pytest.mark.parametrize("name", FAULTS)
def test_one_finding_names_the_line_and_the_cause_of_a_bug(name):
    result = scores.score(FAULTS[name])
    assert not result.crashed
    assert (result.found and not result.second) == (not FAULTS[name].missed), result.text


def test_there_are_enough_of_them():
    assert len(STEPS) >= 8 and len(FAULTS) >= 6


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


def test_the_judge_accepts_the_step_that_stopped_the_gradient():
    assert claims(*half_dead(), blame="Relu") == []


def test_the_judge_refutes_another_step():
    assert any("2.weight" in said for said in claims(*half_dead(), blame="Sum"))


def test_a_step_that_changes_something_is_noticed():
    def build():
        model, own = nn.Linear(2, 1), random.Random(0)
        model.weight.register_hook(lambda g: own.random() * g)  # once more for the doctor
        return Step(model, lambda: model(torch.ones(1, 2)).sum())

    plain, watched = (scores.fingerprint(build, look) for look in (False, True))
    assert [part for part in plain if plain[part] != watched[part]] == ["parameters", "gradients"]


def test_two_steps_of_one_name_are_refused():
    register("torch", "here")(half_dead)
    with pytest.raises(ValueError, match="two steps"):
        register("torch", "here")(half_dead)
    del HEALTHY["half_dead"]
