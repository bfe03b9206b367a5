"""watch(): what its recording forgets, and every way to call backward()."""

import gc
import random
import re
import sys
from types import FunctionType, ModuleType

import numpy as np
import pytest
import torch
import torch._dynamo
from torch import nn
from training import alarms, fit, network, sgd_of, started, train

from autograd_surprises import trace, watch
from autograd_surprises.recording.history import History
from autograd_surprises.recording.recorder import FEW

# ---- A recording forgets


def memory_of(thing):
    """How many bytes a recording keeps."""
    met, waiting = {id(thing)}, [thing]
    for each in waiting:
        if not isinstance(each, (type, ModuleType, FunctionType)):
            new = {id(one): one for one in gc.get_referents(each) if id(one) not in met}
            met.update(new)
            waiting += new.values()
    return sum(map(sys.getsizeof, waiting))


@pytest.mark.slow
def test_a_long_loop_is_forgotten_and_lines_stay():
    def switched_on():
        torch.set_grad_enabled(True)

    calls, kept = [], []
    with trace() as t:
        model, optimizer = started()
        for k in range(12):
            fit(model, optimizer, 40, at=dict.fromkeys(range(41), switched_on))
            calls.append(len(t.calls))
            if k % 6 == 5:
                t.forget()
                kept.append(memory_of(t))
        made = nn.Parameter(torch.ones(1))
        loss = model(torch.rand(16, 4)).mean() + made.detach().sum()
    assert max(calls) <= FEW + 100
    assert kept[0] == kept[1]
    assert [call.index for call in t.calls] == list(range(len(t.calls)))
    report = t.explain(loss, {"made": made, **dict(model.named_parameters())})
    assert report["made"].cause == "detach"
    assert report["first.weight"].status in ("ok", "partial")
    assert History(t).made_at(model.first.weight).source.startswith("self.first, self.norm")


def test_a_graph_that_lives_keeps_its_lines():
    x = torch.ones(2, requires_grad=True)
    with trace() as t:
        root = (x * 0).sqrt()  # this one
        kept = root * 2
        del root  # its node lives on
        for _ in range(FEW):
            torch.ones(2, requires_grad=True).exp().sum().backward()
        loss = kept.sum()
    assert len(t.calls) < 2 * FEW
    assert t.explain(loss, {"x": x})["x"].where.source == "root = (x * 0).sqrt()  # this one"


def test_a_recurrent_loop_without_a_graph_is_forgotten():
    with trace() as t, torch.no_grad():
        for _ in range(FEW):
            (torch.ones(2) * 2).sum().exp()
    assert len(t.calls) <= FEW + 10


def test_a_watch_leaves_no_trace_of_itself_in_a_trace():
    model, optimizer = started()
    with trace() as alone:
        fit(model, optimizer, 2)
    with trace() as beside, watch(model, optimizer):
        fit(model, optimizer, 2)
    assert [call.name for call in beside.calls] == [call.name for call in alone.calls]


def test_the_lines_of_each_loss_are_kept_for_later():
    torch.manual_seed(0)
    maker, judge = nn.Linear(2, 4), nn.Linear(4, 1)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.01) for m in (judge, maker)]
    with watch() as w:
        for step in range(1, 5):
            fake = maker(torch.rand(8, 2))
            for optimizer in optimizers:
                optimizer.zero_grad()
                if optimizer is optimizers[0]:
                    score = judge(fake.detach()) * (step != 4)
                    loss = score.abs().log().mean()  # the first one
                else:
                    loss = judge(fake).mean()
                loss.backward()
                optimizer.step()
    (bad,) = [each for each in w.reports if not each.healthy]
    assert bad.step == 7
    assert bad.report["weight"].where.source.endswith("# the first one")


# ---- Every way to call backward


def edge(x):
    return torch.autograd.graph.get_gradient_edge((x * 2).sum())


CALLS = {
    "keyword": lambda x: torch.autograd.backward(tensors=[(x * 2).sum()]),
    "generator": lambda x: torch.autograd.backward(loss for loss in [(x * 2).sum()]),
    "named generator": lambda x: torch.autograd.backward(tensors=(y.sum() for y in [x * 2])),
    "edge": lambda x: torch.autograd.backward([edge(x)], [torch.tensor(1.0)]),
    "positional": lambda x: (x * 2).sum().backward(None, True, False, [x]),
    "one input": lambda x: (x * 2).sum().backward(inputs=x),
    "weights": lambda x: torch.autograd.backward([x * 2], [torch.ones(2)]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_each_way_to_call_backward_works_as_without_watch(call):
    x = torch.ones(2, requires_grad=True)
    with watch() as w:
        call(x)
    assert x.grad.tolist() == [2.0, 2.0]
    assert w.healthy == (call is not CALLS["edge"]), "what has no loss is not examined"


def hooked(hook):
    """What a hook makes of a weight in three steps."""
    w = torch.tensor(1.0, requires_grad=True)
    sgd = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        sgd.zero_grad()
        y = 2 * w
        y.register_hook(hook)
        y.sum().backward()
        sgd.step()
    return w.item()


LOGGED = []
NOISES = {
    "kept in a global list": lambda: LOGGED.append(1) or len(LOGGED),
    "from Python": random.random,
    "from NumPy": np.random.random,
    "from torch": lambda: torch.rand(()).item(),
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_what_a_hook_keeps_and_draws_is_as_without_watch(noise):
    def noisy(gradient):
        return gradient * noise()

    def train():
        LOGGED.clear()
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        return hooked(noisy), len(LOGGED)

    plain = train()
    with watch(steps=[1, 2]) as w:
        assert train() == plain
    assert len(w.reports) == 2


def test_what_a_hook_prints_in_an_examined_step_is_printed_twice_as_readme_says(capsys):
    with watch():
        hooked(lambda gradient: print("here"))
    assert capsys.readouterr().out.split() == ["here"] * 4


def test_the_first_step_of_an_optimizer_built_later_is_examined_with_its_lines():
    with watch() as w:
        for _ in range(2):
            model = network(2, 1)
            train(sgd_of(model), lambda step: model(torch.ones(4, 2)).mean(), 20)  # noqa: B023
    assert [(each.step, each.why) for each in w.reports] == [
        (1, "the first one"), (21, "the first with another optimizer")
    ]  # fmt: skip


def test_an_optimizer_that_never_steps_is_waited_for_in_a_few_steps_alone():
    model = network(4, 1)
    with watch() as w:
        fit(model, sgd_of(model), 1)
        idle = sgd_of(network(2, 1))
        fit(model, sgd_of(model), 30)
    examined = int(re.match(r"(\d+) of 31 steps examined in full", w.summary)[1])
    assert idle and w.step == 31 and examined <= 12


def test_a_backward_without_an_optimizer_is_no_step_once_there_is_one():
    model = network(2, 1)
    with watch() as w:
        model(torch.ones(4, 2)).mean().backward()
        optimizer = sgd_of(model)
        for _ in range(12):
            for _ in range(2):
                (model(torch.ones(4, 2)).square().mean() / 2).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert w.step == 12


@pytest.mark.parametrize("detached, steps_of_critic", [(False, 5), (True, 1)])
def test_the_loss_of_each_optimizer_is_examined_although_another_reaches_its_parameters(
    detached, steps_of_critic
):
    """The critic's loss reaches the generator, whose own loss passes round()."""
    generator, critic = network(4, 16, 8), network(8, 16, 1)
    of_generator, of_critic = sgd_of(generator, lr=0.01), sgd_of(critic, lr=0.01)
    with watch() as w:
        for i in range(1, 20):
            made = generator(torch.randn(16, 4))
            of_critic.zero_grad()
            (critic(made.detach() if detached else made).mean() - critic(torch.ones(16, 8)).mean()
             ).backward()  # fmt: skip
            of_critic.step()
            of_generator.zero_grad()
            if i % steps_of_critic == 0:
                hidden = generator[0](torch.randn(16, 4)).round()
                (-critic(generator[1:](hidden)).mean()).backward()
                of_generator.step()
    bad = {(found.name, found.cause) for found in alarms(w)}
    assert bad == {("generator.0.weight", "staircase"), ("generator.0.bias", "staircase")}, str(w)
    assert [each.why for each in w.reports if not each.healthy] == [
        "the first with another optimizer"
    ]
