"""Losses that lose a term, flags that autograd does not know, and models that come and go."""

import copy
import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from loops import classifier, classify, error_of
from torch import nn
from training import alarms, sgd_of

from autograd_surprises import watch


@pytest.mark.parametrize("flag", ["require_grad", "required_grad", "requires_gradient"])
def test_a_flag_of_a_parameter_that_autograd_does_not_know(flag):
    model = classifier()
    setattr(model[0].weight, flag, False)
    with watch() as w:
        classify(model, sgd_of(model))
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
                judged = critic(fake.detach() if "generator" in detach else fake)
                right = judged.square().mean()
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
    assert dict(found.places)["the term was made at"].source == "right = judged.square().mean()"


@pytest.mark.parametrize(
    "detach, used",
    [("critic", ""), (["critic", "generator"], "together"), ("generator", "sometimes")],
)
def test_a_term_that_reaches_its_optimizer_or_is_used_is_not(detach, used):
    w = adversarial(detach, used)
    assert not [f for f in alarms(w) if f.rule == "unused-term"]


def test_copies_for_an_inner_loop_are_no_parameters_made_in_forward():
    """Meta-learning: the outer loss is that of copies, which their own optimizers have trained."""
    model = classifier()
    outer = sgd_of(model)
    with watch() as w:
        for _ in range(4):
            losses = []
            for _ in range(3):
                clone = copy.deepcopy(model)
                inner = torch.optim.SGD(clone.parameters(), lr=0.1)
                error_of(clone).backward()
                inner.step()
                losses.append(error_of(clone))
            sum(losses).backward()
            outer.step()
    assert {f.rule for f in alarms(w)} == {"deepcopy"}


def test_a_parameter_that_a_loss_function_makes_is_new_in_each_step():
    """https://github.com/HKUDS/GraphGPT/issues/31"""
    model = classifier()
    sgd = sgd_of(model)
    with watch() as w:
        sgd.zero_grad()
        (nn.Parameter(torch.ones([]) * 2.66).exp() * error_of(model)).backward()
        sgd.step()
    assert {f.rule for f in alarms(w)} == {"new-parameter/in-forward"}


def test_of_many_models_the_first_are_examined_and_the_others_released():
    seen = []
    with watch() as w:
        for _ in range(30):
            model = classifier()
            sgd = sgd_of(model)
            seen.append(weakref.ref(model[0].weight))
            classify(model, sgd, 2)
    del model, sgd
    gc.collect()
    assert sum(each() is None for each in seen) > 15
    assert w.healthy and w.summary.startswith("11 of 60 steps examined in full")
