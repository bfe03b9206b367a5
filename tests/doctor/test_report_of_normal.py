"""A report of what is normal, and of what is not trained."""

import pytest
import torch
from torch import nn
from training import leaf

from autograd_surprises.doctor import explain, trace

# ---- What is normal


def adapted(**options):
    torch.manual_seed(0)
    layers = [nn.Linear(3, 3) for _ in range(12)]
    model = nn.Sequential(*layers, nn.Linear(3, 3))
    nn.init.zeros_(model[-1].weight)
    model[0].requires_grad_(False)
    loss = nn.functional.mse_loss(model(torch.rand(4, 3)), torch.rand(4, 3))
    return explain(loss, model, **options), model


def test_what_is_normal_is_told_in_a_line_each_and_is_no_alarm():
    report, _ = adapted()
    assert report.healthy
    heads = [line for line in str(report).splitlines() if not line.startswith(" ")]
    assert heads[:2] == [
        "None (normal)  0.weight, 0.bias",
        "ZERO (normal)  1.weight, 1.bias and 20 more",
    ]
    assert "None (normal)" in report._repr_html_()
    assert report["1.weight"].status == "zero" and not report["1.weight"].alarming


def test_alarms_are_told_first_and_the_worst_finding_answers_to_a_name():
    model = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
    model[0].requires_grad_(False)
    loss = model[1](model[0](torch.rand(4, 3))).round().sum() + 0 * leaf(1.0)
    heads = [line for line in str(explain(loss, model)).splitlines()[:-1] if line[:1] != " "]
    assert [head.split("  ")[0] for head in heads] == ["None", "ZERO", "None (normal)"]
    model, x = nn.Linear(2, 1), torch.ones(1, 2)
    optimizer = torch.optim.SGD([model.weight], lr=0.1)
    report = explain(model(x).sum(), model, optimizer=optimizer)
    assert report["bias"].status == "not trained" and not report.healthy


def test_of_a_few_zeros_in_a_large_model_no_cause_is_searched():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 1))
    nn.init.constant_(model[0].bias, 9.0)
    nn.init.constant_(model[0].bias[0], -9.0)
    loss = model(torch.rand(4, 3)).sum()
    assert explain(loss, model)["0.weight"].cause == ""
    assert explain(loss, {"0.weight": model[0].weight})["0.weight"].cause == "dead-relu"


@pytest.mark.parametrize("held, alarm", [("all", False), ("head", False), ("frozen alone", True)])
def test_a_frozen_layer_is_an_alarm_if_a_group_of_the_optimizer_holds_nothing_else(held, alarm):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    model[0].requires_grad_(False)
    head = {"params": list(model[1].parameters())}
    groups = {"all": [{"params": list(model.parameters())}], "head": [head],
              "frozen alone": [head, {"params": list(model[0].parameters())}]}  # fmt: skip
    optimizer = torch.optim.SGD(groups[held], lr=0.1)
    report = explain(model(torch.ones(1, 2)).sum(), model, optimizer=optimizer)
    assert report["0.weight"].cause == "frozen"
    assert report.healthy is not alarm


def test_a_model_that_is_frozen_altogether_is_an_alarm():
    model = nn.Linear(2, 1).requires_grad_(False)
    scale = torch.ones(1, requires_grad=True)
    assert not explain((model(torch.ones(1, 2)) * scale).sum(), model).healthy
    assert not explain((model(torch.ones(1, 2)) * scale).sum(), {"w": model.weight}).healthy


def test_a_zero_parameter_that_stays_zero_is_an_alarm():
    def report(held=None, second=0.0):
        model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
        nn.init.zeros_(model[1].weight)
        if second == 0.0:
            nn.init.zeros_(model[0].weight)
        optimizer = torch.optim.SGD(held(model), lr=0.1) if held else None
        loss = model(torch.ones(1, 2)).sum()
        return explain(loss, model, optimizer=optimizer)

    assert report()["0.weight"].alarming  # all weights are 0
    assert not report(second=1.0)["0.weight"].alarming
    head_stays = report(lambda model: model[0].parameters(), second=1.0)
    assert head_stays["0.weight"].alarming


# ---- Not trained


def gan():
    generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    model = nn.ModuleDict({"generator": generator, "critic": critic})
    loss = critic(generator(torch.ones(4, 2))).mean()
    return model, loss, torch.optim.SGD(generator.parameters(), lr=0.1)


def test_what_another_optimizer_holds_is_trained():
    model, loss, optimizer = gan()
    assert explain(loss, model, optimizer=optimizer)["critic.weight"].status == "not trained"
    of_critic = torch.optim.SGD([{"params": [p]} for p in model["critic"].parameters()], lr=0.1)
    assert explain(loss, model, optimizer=optimizer).healthy and of_critic


def test_an_optimizer_that_holds_more_than_the_model_is_not_stale():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *nn.Linear(2, 1).parameters()], lr=0.1)
    assert explain(model(torch.ones(1, 2)).sum(), model, optimizer=optimizer).healthy


def test_what_gets_no_gradient_was_not_meant_for_the_optimizer():
    model = nn.ModuleDict({"used": nn.Linear(2, 1), "other": nn.Linear(2, 1)})
    optimizer = torch.optim.SGD(model["used"].parameters(), lr=0.1)
    report = explain(model["used"](torch.ones(1, 2)).sum(), model, optimizer=optimizer)
    assert {f.status for f in report.findings} == {"ok", "none"}


def test_contributions_that_cancel_are_shown_where_they_are_added():
    """And not where a weight was set to 0, although that is a factor there."""
    layer, norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
    with trace() as t:
        nn.init.zeros_(layer.weight)
        loss = (norm(layer(torch.rand(2, 3))) * torch.tensor([[1.0, 2.0], [3.0, 5.0]])).sum()
    found = t.explain(loss, {"bias": layer.bias})["bias"]
    assert found.cause == "cancel" and [label for label, _ in found.places] == ["at"]
    assert found.where.source.startswith("loss = ")
