"""watch(): a training loop, examined where something turns bad, and changed by nothing."""

import re

import pytest
import torch
from torch import nn
from training import Net, alarms, fit, is_recording, sgd_of, started, train

from autograd_surprises import watch

# ---- What it says


@pytest.mark.parametrize(
    "options, examined",
    [({}, [(1, "the first one")]), ({"steps": (2, 4)}, [(2, "asked for"), (4, "asked for")])],
)
def test_of_a_healthy_loop_the_first_step_is_examined_or_those_that_are_asked_for(
    options, examined
):
    model, optimizer = started()
    with watch(model, optimizer, **options) as w:
        fit(model, optimizer, 5)
    assert w.healthy and w.step == 5
    assert [(each.step, each.why) for each in w.reports] == examined
    steps = ", ".join(str(step) for step, _ in examined)
    full = f"{len(examined)} of 5 steps examined in full ({steps})"
    assert str(w) == f"{full}, {5 - len(examined)} by sizes; no alarm"


def test_a_loss_that_turns_inf_is_examined_at_once_with_its_line():
    model, optimizer = started()
    with watch(steps={1, 8}) as w:
        fit(model, optimizer, 9, lambda y, step: (y * (step != 7)).abs().log().mean())  # here
    assert [each.step for each in w.reports] == [1, 7, 8], "told once, and where it is asked for"
    bad = w.reports[1]
    assert bad.why.startswith("the loss is inf")
    found = bad.report["first.weight"]
    assert (found.cause, found.where.source[-6:]) == ("infinite-derivative", "# here")
    assert "--steps 7 " in bad.why, "how to get the lines of this very step"
    assert "first bad step: 7" in str(w) and "test_watch.py" in str(w)


def test_a_graph_with_other_operations_borrows_no_lines():
    def loss_of(y, step):
        return (y.abs() * 0).log().mean() if step == 3 else y.square().mean()

    model, optimizer = started()
    with watch() as w:
        fit(model, optimizer, 3, loss_of)
    why, report = w.reports[-1].why, w.reports[-1].report
    assert "the loss is inf" in why and "--steps 3 " in why
    assert not report["first.weight"].places
    causes = {found.cause for found in report.findings}
    assert causes == {"infinite-derivative"}, "no guess about a forward that it has not seen"


@pytest.mark.parametrize("before", [0, 4])
@pytest.mark.parametrize("a_step_follows", [True, False])
def test_a_gradient_that_dies_is_explained_also_if_no_step_follows(before, a_step_follows):
    model, optimizer = started()
    kill = {max(1, before): lambda: nn.init.constant_(model.norm.bias, -100.0)}
    with watch(model, optimizer) as w:
        fit(model, optimizer, before, at=kill)
        kill[max(1, before)]()
        model(torch.rand(16, 4)).square().mean().backward()
        if a_step_follows:
            optimizer.step()
    assert [each.step for each in w.reports] == ([1, 5] if before else [1])
    found = w.reports[-1].report["first.weight"]
    assert found.cause == "dead-relu" and "torch.relu" in found.where.source


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("steps, since", [((1,), ["4"]), ((1, 5), [])])  # 5 was asked for
def test_a_gradient_that_is_none_from_some_step_on_is_explained(steps, since, order):
    model, _ = started()
    optimizers = [sgd_of(model.first, model.norm), sgd_of(model.last)][::order]

    def loss(step):
        return model.last(hidden(model).detach() if step > 3 else hidden(model)).square().mean()

    with watch(model, steps=steps) as w:
        train(optimizers, loss, 7)
    assert [each.step for each in w.reports] == [1, 5]
    assert w.reports[-1].report["first.weight"].status == "none"
    assert re.findall(r"\d+", w.reports[-1].why) == since


@pytest.mark.parametrize("skipped, reported", [(range(14, 99), [1, 24]), (range(14, 19), [1])])
def test_a_layer_that_is_not_used_any_more_is_reported_but_one_that_is_skipped_is_not(
    skipped, reported
):
    model, optimizer = started()
    with watch(model, optimizer) as w:
        train(optimizer, lambda step: with_or_without_hidden(model, step not in skipped), 27)
    assert [each.step for each in w.reports] == reported
    if reported[1:]:
        assert w.reports[1].report["first.weight"].rule == "unused/never"
        assert w.reports[1].why.endswith("since step 14")


@pytest.mark.parametrize("first", [6, 10, 11, 99])
def test_a_layer_that_is_skipped_in_the_first_ten_steps_may_still_come(first):
    model, optimizer = started()
    with watch(model, optimizer) as w:
        for step in range(1, 12):
            train(optimizer, lambda _: with_or_without_hidden(model, step >= first), 1)  # noqa: B023
            assert bool(w.reports) == (step >= min(first, 10))
    assert [each.step for each in w.reports] == [1]
    assert w.healthy == (first <= 10)


def hidden(model):
    return model.norm(model.first(torch.rand(16, 4)))


def with_or_without_hidden(model, is_used):
    h = hidden(model) if is_used else torch.rand(16, 4) @ torch.ones(4, 8)
    return model.last(h).square().mean()


def test_gradients_that_are_not_finite_though_the_loss_is_are_named_beside_those_that_are():
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last, self.factor = nn.Linear(4, 3), nn.Linear(3, 1), 1.0

        def forward(self, x):
            return self.last((self.first(x) * self.factor).abs().sqrt())

    model, optimizer = started(Root)
    with watch() as w:
        fit(model, optimizer, 3, at={3: lambda: setattr(model, "factor", 0.0)})
    (found,) = w.reports[-1].report.findings
    assert (found.name, w.reports[-1].step) == ("first.weight, first.bias", 3)
    assert "not-finite" in found.cause and "--steps 3" in str(w.reports[-1])
    assert found.sentence.partition("finite are ")[2] == "last.weight, last.bias"


def test_an_explosion_names_the_largest_gradients():
    model, optimizer = started()
    optimizer.param_groups[0]["lr"] = 1e-6
    with watch() as w:
        fit(model, optimizer, 25, lambda y, step: y.square().mean() * (1e6 if step == 25 else 1))
    (alarm,) = [each for each in w.reports if not each.healthy]
    (found,) = alarm.report.findings
    assert (alarm.step, found.status) == (25, "exploding")
    sizes = {name: p.grad.norm().item() for name, p in model.named_parameters()}
    assert found.name.split(", ") == sorted(sizes, key=sizes.get, reverse=True)[:3]
    assert found.name in str(w)


def test_a_layer_that_was_made_after_the_optimizer():
    with watch() as w:
        model, optimizer = started()
        model.last = nn.Linear(8, 1)
        fit(model, optimizer, 1)
    found = w.reports[0].report["last.weight"]
    assert (found.status, found.cause) == ("not trained", "not-in-optimizer")
    (built,) = [at for label, at in found.places if label == "the optimizer was built at"]
    assert built.source.startswith("return model, torch.optim.SGD(")
    assert "None a parameter of shape (1, 8) that the optimizer holds" in str(w)


@pytest.mark.parametrize("given", [False, True])
def test_a_parameter_that_only_a_plain_list_holds_is_named_by_its_path(given):
    class Listed(Net):
        def __init__(self):
            super().__init__()
            self.more = [nn.Linear(1, 1)]  # here

        def forward(self, x):
            return self.more[0](super().forward(x))

    model, optimizer = started(Listed)
    with watch(*((model, optimizer) if given else ())) as w:
        fit(model, optimizer, 3)
    assert {f.name for f in alarms(w)} == {"more[0].weight", "more[0].bias"}


@pytest.mark.parametrize("wrong", ["swapped", "text", "optimizer", "class"])
def test_a_watch_of_something_else_is_refused_at_once(wrong):
    model, optimizer = started()
    given = {
        "swapped": (optimizer, model),
        "text": ("model",),
        "optimizer": (model, "sgd"),
        "class": (Net,),
    }[wrong]
    with pytest.raises(TypeError, match=r"has to be .*, got .*watch\(model, optimizer\)"):
        watch(*given)


def test_an_error_of_backward_is_explained_and_goes_on():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError), watch() as w:
        (x.detach() * 2).sum().backward()
    assert w.reports[-1].report.findings[0].cause == "not-connected" and not w.healthy


def test_after_an_error_nobody_misses_the_step():
    model, optimizer = started()
    with pytest.raises(RuntimeError), watch(model, optimizer) as w:
        loss = model(torch.rand(16, 4)).square().mean()
        loss.backward()
        loss.backward()
    assert len(w.reports) == 1 and "step()" not in str(w)


def test_without_an_examined_step_nothing_is_healthy_and_the_summary_says_why():
    def several(model, optimizer):
        torch.autograd.backward([model(torch.rand(16, 4)).mean(), model(torch.rand(16, 4)).mean()])
        optimizer.step()

    model, optimizer = started()
    other, others = started()
    reasons = {
        "nothing called backward()": ({}, lambda: None),
        "no step that was asked for": ({"steps": [5]}, lambda: fit(model, optimizer, 3)),
        "no parameter of the model": ({"model": model}, lambda: fit(other, others, 3)),
        "several tensors at once": ({}, lambda: several(model, optimizer)),
    }
    for reason, (options, run) in reasons.items():
        with watch(**options) as w:
            run()
        assert not w.healthy and not w.reports, reason
        assert reason in str(w) and "nothing bad" not in str(w)


def test_a_second_optimizer_is_waited_for_and_then_no_more():
    model, optimizer = started()
    unused = started()
    with watch():
        fit(model, optimizer, 9)
        assert is_recording()
        fit(model, optimizer, 1)
        assert not is_recording() and unused


# ---- What counts as a step


def test_several_backwards_are_one_step_and_are_judged_together():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)

    model, optimizer = started(Heads)
    with watch() as w:
        for _ in range(3):
            optimizer.zero_grad()
            for head in (model.a, model.b):
                head(model.body(torch.rand(5, 4))).square().mean().backward()
            optimizer.step()
    assert w.healthy and w.step == 3, str(w)
    assert len(w.reports) == 2, "each loss of step 1"


@pytest.mark.parametrize("requires_grad", [False, True])
def test_accumulation_is_examined_once_also_with_a_new_leaf_in_each_forward(requires_grad):
    model, optimizer = started()
    with watch() as w:
        for step in range(1, 9):
            x = torch.rand(16, 4, requires_grad=requires_grad)  # as for a checkpoint
            (model(x).square().mean() / 4).backward()
            if step % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
    assert w.healthy and (w.step, len(w.reports)) == (2, 1)


def test_an_alarm_about_the_first_of_two_models_has_its_names():
    torch.manual_seed(0)
    judge, maker = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in (judge, maker)]
    with watch() as w:
        for step in range(4):
            for model, optimizer in zip((judge, maker), optimizers, strict=True):
                y = model(torch.rand(8, 2)) * (step < 3 or model is maker)
                optimizer.zero_grad()
                y.abs().sqrt().mean().backward()  # at 0, an infinite derivative times 0
                optimizer.step()
    alarm = next(each for each in w.reports if not each.healthy)
    assert alarm.report.findings[0].name == "weight, bias"


def test_without_an_optimizer_each_backward_is_a_step():
    weight = torch.ones(3, requires_grad=True)
    with watch() as w:
        for _ in range(4):
            (weight**2).sum().backward()
            with torch.no_grad():
                weight -= 0.1 * weight.grad
                weight.grad = None
    assert w.healthy and w.step == 4 and len(w.reports) == 1


def test_other_models_and_optimizers_are_not_its_business():
    model, optimizer = started()
    other, others = started()
    with watch(model, optimizer) as w:
        fit(other, others, 2)
        fit(model, optimizer, 2)
    assert w.healthy and len(w.reports) == 1
