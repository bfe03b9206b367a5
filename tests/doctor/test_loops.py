"""Loops that are wrong though each backward is right, and loops that only look like them."""

import copy
import functools
import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograd_surprises import watch


def net(*more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), *more, nn.Linear(8, 2))


def batch():
    return torch.randn(8, 4), torch.randint(2, (8,))


def loss_of(model):
    x, y = batch()
    return F.cross_entropy(model(x), y)


def plain(model, sgd, steps=12, before=lambda i: None, after=lambda i: None):
    for i in range(steps):
        before(i)
        model.zero_grad()
        loss_of(model).backward()
        sgd.step()
        after(i)


def never_in_training_mode_again(model, sgd):
    plain(model, sgd, after=lambda i: model.train(i < 4))


def replaced_after_the_optimizer_was_built(model, sgd):
    plain(model, sgd, 20)
    model[-1] = nn.Linear(8, 2)
    plain(model, sgd, 10)


def in_eval_mode_for_three_steps(model, sgd):
    plain(model, sgd, before=lambda i: model.train(i not in (5, 6, 7)))


BAD = {never_in_training_mode_again: "left-in-eval-mode",
       in_eval_mode_for_three_steps: "left-in-eval-mode",
       replaced_after_the_optimizer_was_built: "replaced-layer"}  # fmt: skip
OTHERS = {*BAD.values(), "cleared-batches", "accumulated/used-twice"}


def run(loop):
    model = net(nn.Dropout(0.5))
    with watch() as w:
        loop(model, torch.optim.SGD(model.parameters(), lr=0.1))
    return w


def alarms(w):
    return [f for each in w.reports for f in each.report.findings if f.alarming]


@pytest.mark.parametrize("loop", BAD, ids=lambda loop: loop.__name__)
def test_a_wrong_loop_is_told_once_with_its_cause_and_line(loop):
    found = [f for f in alarms(run(loop)) if f.rule != "unused/never"]
    assert {f.rule for f in found} == {BAD[loop]}
    assert len({f.sentence for f in found}) == 1
    if BAD[loop] == "replaced-layer":
        assert {f.name for f in found} == {"2.weight", "2.bias"}
    else:
        assert "since step 6" in found[0].sentence


def a_loss_that_is_only_measured(model, sgd):
    """Another line clears what it has measured."""
    for _ in range(6):
        sgd.zero_grad()
        loss_of(model).backward()
        sgd.zero_grad()
        loss_of(model).backward()
        sgd.step()


def sharpness_aware(model, sgd):
    """One line gives both gradients, and the first is used by hand."""
    for _ in range(6):
        moved = []
        for first in (True, False):
            sgd.zero_grad()
            loss_of(model).backward()
            with torch.no_grad():
                if first:
                    moved = [(p, 0.05 * p.grad / p.grad.norm()) for p in model.parameters()]
                for p, by in moved:
                    p.add_(by if first else -by)
        sgd.step()


def gradients_of_each_sample(model, sgd, in_place=False):
    """Their sum is written into .grad, and the cleared ones have been read."""
    for step in range(6):
        each = []
        for _ in range(3):
            model.zero_grad()
            loss_of(model).backward()
            each.append([p.grad.clone() for p in model.parameters()])
        for i, p in enumerate(model.parameters()):
            total = sum(gradients[i] for gradients in each)
            p.grad = p.grad.copy_(total) if in_place else total
        if in_place and step % 2:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        sgd.step()


def validated(model, sgd):
    plain(model, sgd, before=lambda i: model.train(), after=lambda i: model.train(i % 2 == 0))


def a_part_in_eval_mode(model, sgd):
    model[1].eval()
    plain(model, sgd)


def in_eval_mode_for_two_steps(model, sgd):
    plain(model, sgd, before=lambda i: model.train(i not in (5, 6)))


def replaced_and_added_to_the_optimizer(model, sgd):
    plain(model, sgd, 20)
    model[-1] = nn.Linear(8, 2)
    sgd.param_groups[0]["params"][-2:] = model[-1].parameters()
    plain(model, sgd, 10)


def frozen_from_the_start(model, sgd):
    """A part of the model gets gradients and is in no optimizer, on purpose."""
    sgd.param_groups[0]["params"] = list(model[-1].parameters())
    plain(model, sgd)


GOOD = [
    a_loss_that_is_only_measured, sharpness_aware, gradients_of_each_sample, validated,
    functools.partial(gradients_of_each_sample, in_place=True),
    a_part_in_eval_mode, in_eval_mode_for_two_steps, replaced_and_added_to_the_optimizer,
    frozen_from_the_start,
]  # fmt: skip


@pytest.mark.parametrize("loop", GOOD)
def test_a_loop_that_looks_like_a_wrong_one_is_no_alarm_of_its_kind(loop):
    rules = {found.rule for found in alarms(run(loop))}
    assert rules.isdisjoint(OTHERS), rules


@pytest.mark.parametrize("flag", ["require_grad", "required_grad", "requires_gradient"])
def test_a_flag_of_a_parameter_that_autograd_does_not_know(flag):
    model = net()
    setattr(model[0].weight, flag, False)
    with watch() as w:
        plain(model, torch.optim.SGD(model.parameters(), lr=0.1))
    (found,) = alarms(w)
    assert (found.name, found.rule) == ("0.weight", "tensor-flag") and flag in found.sentence


def adversarial(detach=(), used=""):
    """A generator and a discriminator; which loss detaches what the generator made?"""
    torch.manual_seed(0)
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    of_generator = torch.optim.Adam(generator.parameters(), 1e-2)
    of_critic = torch.optim.Adam(critic.parameters(), 1e-2)
    with watch() as w:
        for i in range(20):
            x = torch.randn(8, 4)
            fake = generator(x)
            judged = critic(fake.detach() if "critic" in detach else fake)
            right = F.softplus(judged).mean() + F.softplus(-critic(2 * x)).mean()
            if used != "together":
                of_critic.zero_grad()
                right.backward(retain_graph=True)
                of_critic.step()
                right = critic(fake.detach() if "generator" in detach else fake).square().mean()
            if used != "sometimes" or i % 4 == 3:
                critic.zero_grad()
            of_generator.zero_grad()
            (right + 100 * F.l1_loss(fake, 2 * x)).backward()
            of_generator.step()
            if used == "together" or (used == "sometimes" and i % 4 == 2):
                of_critic.step()
    return w


def test_a_term_that_is_cut_off_from_what_its_loss_trains_is_told():
    (found,) = [f for f in alarms(adversarial(["critic", "generator"])) if f.status == "wrong"]
    assert (found.rule, found.name) == ("unused-term", "loss")
    assert "critic.bias, critic.weight" in found.sentence and "detach" in found.where.source
    assert "right + 100" not in found.where.source


@pytest.mark.parametrize(
    "detach, used",
    [("critic", ""), (["critic", "generator"], "together"), ("generator", "sometimes")],
)
def test_a_term_that_reaches_its_optimizer_or_is_used_is_not(detach, used):
    w = adversarial(detach, used)
    assert not [f for f in alarms(w) if f.rule == "unused-term"]


def test_copies_for_an_inner_loop_are_no_parameters_made_in_forward():
    """Meta-learning: the outer loss is that of copies, which their own optimizers have trained."""
    model = net()
    outer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch() as w:
        for _ in range(4):
            losses = []
            for _ in range(3):
                clone = copy.deepcopy(model)
                inner = torch.optim.SGD(clone.parameters(), lr=0.1)
                loss_of(clone).backward()
                inner.step()
                losses.append(loss_of(clone))
            sum(losses).backward()
            outer.step()
    assert {f.rule for f in alarms(w)} == {"deepcopy"}


def test_a_parameter_that_a_loss_function_makes_is_new_in_each_step():
    """https://github.com/HKUDS/GraphGPT/issues/31"""
    model = net()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch() as w:
        sgd.zero_grad()
        (nn.Parameter(torch.ones([]) * 2.66).exp() * loss_of(model)).backward()
        sgd.step()
    assert {f.rule for f in alarms(w)} == {"new-parameter/in-forward"}


def test_of_many_models_the_first_are_examined_and_the_others_released():
    seen = []
    with watch() as w:
        for _ in range(30):
            model = net()
            sgd = torch.optim.SGD(model.parameters(), lr=0.1)
            seen.append(weakref.ref(model[0].weight))
            plain(model, sgd, 2)
    del model, sgd
    gc.collect()
    assert sum(each() is None for each in seen) > 15
    assert w.healthy and w.summary.startswith("11 of 60 steps examined in full")
