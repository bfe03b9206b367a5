"""watch(): a training loop, examined where something turns bad, and changed by nothing."""

import gc
import multiprocessing
import random
import re
import signal
import sys
import threading
from contextlib import nullcontext
from types import FunctionType, ModuleType

import numpy as np
import pytest
import torch
import torch._dynamo
from test_left_behind import switches
from torch import nn

from autograd_surprises import trace, watch
from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.watch import full_steps
from autograd_surprises.recording.history import History
from autograd_surprises.recording.recorder import FEW


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(4, 8, bias=False), nn.BatchNorm1d(8)
        self.drop, self.last = nn.Dropout(0.2), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(self.drop(torch.relu(self.norm(self.first(x)))))


def started(make=Net):
    torch.manual_seed(0)
    model = make()
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def train(model, optimizer, steps, loss_of=None, at=None):
    """`at` is {step: what happens before it}."""

    def loss(step):
        if at and step in at:
            at[step]()
        y = model(torch.rand(16, 4))
        return loss_of(y, step) if loss_of else y.square().mean()

    descend(optimizer, steps, loss)


def descend(optimizer, steps, loss):
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss(step).backward()
        optimizer.step()


def is_recording():
    return bool(torch.overrides._get_current_function_mode_stack())


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
        train(model, optimizer, 5)
    assert w.healthy and w.step == 5
    assert [(each.step, each.why) for each in w.reports] == examined
    steps = ", ".join(str(step) for step, _ in examined)
    full = f"{len(examined)} of 5 steps examined in full ({steps})"
    assert str(w) == f"{full}, {5 - len(examined)} by sizes; no alarm"


def test_a_loss_that_turns_inf_is_examined_at_once_with_its_line():
    model, optimizer = started()
    with watch() as w:
        train(model, optimizer, 9, lambda y, step: (y * (step != 7)).abs().log().mean())  # here
    assert [each.step for each in w.reports if not each.healthy] == [7], "told once"
    bad = w.reports[-1]
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
        train(model, optimizer, 3, loss_of)
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
        train(model, optimizer, before, at=kill)
        kill[max(1, before)]()
        model(torch.rand(16, 4)).square().mean().backward()
        if a_step_follows:
            optimizer.step()
    assert [each.step for each in w.reports] == ([1, 5] if before else [1])
    found = w.reports[-1].report["first.weight"]
    assert found.cause == "dead-relu" and "torch.relu" in found.where.source


@pytest.mark.parametrize("steps, since", [((1,), ["4"]), ((1, 5), [])])  # 5 was asked for
def test_a_gradient_that_is_none_from_some_step_on_is_explained(steps, since):
    model, optimizer = started()

    def loss(step):
        return model.last(hidden(model).detach() if step > 3 else hidden(model)).square().mean()

    with watch(model, optimizer, steps=steps) as w:
        descend(optimizer, 7, loss)
    assert [each.step for each in w.reports] == [1, 5]
    assert w.reports[-1].report["first.weight"].status == "none"
    assert re.findall(r"\d+", w.reports[-1].why) == since


@pytest.mark.parametrize("skipped, reported", [(range(14, 99), [1, 24]), (range(14, 19), [1])])
def test_a_layer_that_is_not_used_any_more_is_reported_but_one_that_is_skipped_is_not(
    skipped, reported
):
    model, optimizer = started()
    with watch(model, optimizer) as w:
        descend(optimizer, 27, lambda step: with_or_without_hidden(model, step not in skipped))
    assert [each.step for each in w.reports] == reported
    if reported[1:]:
        assert w.reports[1].report["first.weight"].rule == "unused/never"
        assert w.reports[1].why.endswith("since step 14")


@pytest.mark.parametrize("first, reported", [(6, [1]), (99, [1])])
def test_a_layer_that_is_skipped_in_the_first_steps_may_still_come(first, reported):
    model, optimizer = started()
    with watch(model, optimizer) as w:
        for step in range(1, 12):
            descend(optimizer, 1, lambda _: with_or_without_hidden(model, step >= first))  # noqa: B023
            assert bool(w.reports) == (step >= min(first, 10))
    assert [each.step for each in w.reports] == reported
    assert w.healthy == (first == 6)


def hidden(model):
    return model.norm(model.first(torch.rand(16, 4)))


def with_or_without_hidden(model, is_used):
    h = hidden(model) if is_used else torch.rand(16, 4) @ torch.ones(4, 8)
    return model.last(h).square().mean()


def test_a_gradient_that_comes_and_goes_is_no_alarm():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.turn = nn.Linear(4, 1), nn.Linear(4, 1), 0

        def forward(self, x):
            self.turn += 1
            if self.turn == 1:
                return self.a(x) + self.b(x)
            return self.a(x) if self.turn % 2 else self.b(x)

    model, optimizer = started(Two)
    unused = started()  # its first loss is waited for, in vain
    with watch() as w:
        train(model, optimizer, 12)
    assert w.healthy and unused, str(w)


def test_gradients_that_are_not_finite_though_the_loss_is_are_named_beside_those_that_are():
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last, self.factor = nn.Linear(4, 3), nn.Linear(3, 1), 1.0

        def forward(self, x):
            return self.last((self.first(x) * self.factor).abs().sqrt())

    model, optimizer = started(Root)
    with watch() as w:
        train(model, optimizer, 3, at={3: lambda: setattr(model, "factor", 0.0)})
    (found,) = w.reports[-1].report.findings
    assert (found.name, w.reports[-1].step) == ("first.weight, first.bias", 3)
    assert "not-finite" in found.cause and "--steps 3" in str(w.reports[-1])
    assert found.sentence.partition("finite are ")[2] == "last.weight, last.bias"


def test_an_explosion_names_the_largest_gradients():
    model, optimizer = started()
    optimizer.param_groups[0]["lr"] = 1e-6
    with watch() as w:
        train(model, optimizer, 25, lambda y, step: y.square().mean() * (1e6 if step == 25 else 1))
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
        train(model, optimizer, 1)
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
        train(model, optimizer, 3)
    assert {f.name for each in w.reports for f in each.report.findings if f.alarming} == {
        "more[0].weight",
        "more[0].bias",
    }


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
        "no step that was asked for": ({"steps": [5]}, lambda: train(model, optimizer, 3)),
        "no parameter of the model": ({"model": model}, lambda: train(other, others, 3)),
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
        train(model, optimizer, 9)
        assert is_recording()
        train(model, optimizer, 1)
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


def test_two_networks_with_an_optimizer_each():
    torch.manual_seed(0)
    maker, judge = nn.Linear(2, 4), nn.Linear(4, 1)
    optimizers = [torch.optim.Adam(m.parameters()) for m in (judge, maker)]
    with watch() as w:
        for _ in range(3):
            fake = maker(torch.rand(8, 2))
            for optimizer, score in zip(optimizers, (-judge(fake.detach()), None), strict=True):
                optimizer.zero_grad()
                (judge(fake) if score is None else score).sigmoid().mean().backward()
                optimizer.step()
    assert w.healthy, str(w)
    assert [each.step for each in w.reports] == [1, 2], "the first loss of each"
    assert [f.name for f in w.reports[1].report.findings][:2] == ["judge.weight", "judge.bias"]


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
        train(other, others, 2)
        train(model, optimizer, 2)
    assert w.healthy and len(w.reports) == 1


# ---- It changes nothing


def test_training_is_the_same_to_the_bit():
    ends = []
    for watched in (False, True):
        model, optimizer = started()
        if watched:
            with watch(model, optimizer, steps=(1, 5, 6)) as w:
                train(model, optimizer, 20)
            assert len(w.reports) == 3
        else:
            train(model, optimizer, 20)
        state = [*model.state_dict().values(), torch.get_rng_state()]
        ends.append([*state, *(p.grad for p in model.parameters())])
    assert all(map(torch.equal, *ends))


@pytest.mark.parametrize("what", ["module", "in place", "function"])
def test_what_is_compiled_runs_compiled_and_is_not_compiled_twice(what):
    ends = []
    for watched in (False, True):
        torch._dynamo.reset()
        graphs = []

        def backend(graph, inputs, graphs=graphs):
            graphs.append(graph)
            return graph

        model, optimizer = started()
        with watch(steps=(1, 3)) if watched else nullcontext() as w:
            run = model
            if what == "in place":
                model.compile(backend=backend, fullgraph=True)
            else:
                made = model if what == "module" else lambda x, model=model: model(x)
                run = torch.compile(made, backend=backend, fullgraph=True)
            train(run, optimizer, 4)
        ends.append([*model.state_dict().values(), torch.tensor(len(graphs))])
    assert all(map(torch.equal, *ends)) and ends[0][-1] == 1
    assert w.healthy and len(w.reports) == 2


def test_everything_is_put_back_also_after_an_error_and_the_next_watch_begins_anew():
    before = switches()
    model, optimizer = started()
    with pytest.raises(ZeroDivisionError), watch(model, optimizer) as first:
        train(model, optimizer, 1, lambda y, step: (y * 0).log().mean())
        raise ZeroDivisionError
    assert switches() == before
    model, optimizer = started()
    with watch(model, optimizer) as second:
        train(model, optimizer, 2)
    assert (first.step, first.healthy, second.step, second.healthy) == (1, False, 2, True)


def test_a_watch_cannot_be_entered_twice_and_two_may_be_nested():
    model, optimizer = started()
    before = switches()
    with watch() as outer, watch() as inner:
        with pytest.raises(RuntimeError, match="active already"), inner:
            pass
        train(model, optimizer, 2)
    assert outer.step == inner.step == 2 and outer.healthy and inner.healthy
    assert switches() == before


def test_another_thread_is_not_watched():
    model, optimizer = started()
    with watch() as w:
        in_a_thread(train, model, optimizer, 2)
    assert w.step == 0 and "no training step" in str(w)


def in_a_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()


def test_compiled_code_in_another_thread_does_not_end_this_recording():
    model, optimizer = started()
    nn.init.constant_(model.norm.bias, -100.0)
    fast, before = torch.compile(torch.neg, backend="eager"), switches()
    with watch() as w:
        in_a_thread(fast, torch.ones(1))
        assert is_recording()
        train(model, optimizer, 1)
    where = w.reports[0].report["first.weight"].where
    assert (where.module, "torch.relu" in where.source) == ("Net", True)
    assert switches() == before


def in_a_child(queue):
    queue.put(torch.overrides._len_torch_function_stack())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_forked_child_is_not_watched():
    context = multiprocessing.get_context("fork")
    with watch():
        queue = context.SimpleQueue()
        child = context.Process(target=in_a_child, args=(queue,))
        child.start()
        assert queue.get() == 0
        child.join()


def in_a_child_that_may_start_no_threads(queue):
    signal.alarm(60)  # else it would wait for ever
    model = nn.Linear(2, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch() as w:
        model(torch.ones(2)).sum().backward()
        sgd.step()
    queue.put(len(w.reports))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_small_model_can_be_watched_in_a_forked_child():
    """OpenMP of GNU hangs in a child if it starts threads there, after its parent has had some."""
    threads = torch.get_num_threads()
    context = multiprocessing.get_context("fork")
    try:
        torch.set_num_threads(4)
        torch.ones(2**22).exp()
        queue = context.SimpleQueue()
        child = context.Process(target=in_a_child_that_may_start_no_threads, args=(queue,))
        child.start()
        child.join()
    finally:
        torch.set_num_threads(threads)
    assert child.exitcode == 0 and queue.get() > 0


def test_what_cannot_be_examined_is_said_and_ends_nothing(monkeypatch):
    def broken(*args):
        raise KeyError("here")

    monkeypatch.setattr(full_steps, "examine", broken)
    model, optimizer = started()
    with watch() as w:
        train(model, optimizer, 2)
    assert not w.healthy and "step 1 could not be examined: KeyError: 'here'" in str(w)


def test_gradients_of_all_kinds_have_a_size():
    def leaf(*values, dtype=torch.float32):
        return torch.tensor(values, dtype=dtype, requires_grad=True)

    tiny, huge, half = leaf(1.0), leaf(1.0, 1.0), leaf(1.0, 1.0, dtype=torch.float16)
    table, none = nn.Embedding(3, 2, sparse=True), leaf(1.0)
    ((tiny * 1e-30).sum() + (huge * 1e30).sum() + (half * 6e4).float().sum()).backward()
    table(torch.tensor([1])).sum().backward()
    found = norms([tiny, huge, half, table.weight, none])
    assert found[0] > 0 and found[1] < float("inf") and found[2] > 6e4
    assert found[3] == pytest.approx(2**0.5) and found[4] is None


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


def test_a_long_loop_is_forgotten_and_lines_stay():
    def switched_on():
        torch.set_grad_enabled(True)

    calls, kept = [], []
    with trace() as t:
        model, optimizer = started()
        for k in range(12):
            train(model, optimizer, 40, at=dict.fromkeys(range(41), switched_on))
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
        train(model, optimizer, 2)
    with trace() as beside, watch(model, optimizer):
        train(model, optimizer, 2)
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


def small(*sizes):
    torch.manual_seed(0)
    layers = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False)]
    return nn.Sequential(*layers)


def test_the_first_step_of_an_optimizer_built_later_is_examined_with_its_lines():
    with watch() as w:
        for _ in range(2):
            model = small(2, 1)
            sgd = torch.optim.SGD(model.parameters(), lr=0.1)
            descend(sgd, 20, lambda step: model(torch.ones(4, 2)).mean())  # noqa: B023
    assert [(each.step, each.why) for each in w.reports] == [
        (1, "the first one"), (21, "the first with another optimizer")
    ]  # fmt: skip


def test_an_optimizer_that_never_steps_is_waited_for_in_a_few_steps_alone():
    model = small(4, 1)
    with watch() as w:
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), 1)
        idle = torch.optim.SGD(small(2, 1).parameters(), lr=0.1)
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), 30)
    examined = int(re.match(r"(\d+) of 31 steps examined in full", w.summary)[1])
    assert idle and w.step == 31 and examined <= 12


def test_a_backward_without_an_optimizer_is_no_step_once_there_is_one():
    model = small(2, 1)
    with watch() as w:
        model(torch.ones(4, 2)).mean().backward()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            for _ in range(2):
                (model(torch.ones(4, 2)).square().mean() / 2).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert w.step == 12


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("steps_of_critic", [1, 5])
def test_the_loss_of_each_optimizer_is_examined_although_another_reaches_its_parameters(
    detached, steps_of_critic
):
    """The critic's loss reaches the generator, whose own loss passes round()."""
    generator, critic = small(4, 16, 8), small(8, 16, 1)
    of_generator = torch.optim.SGD(generator.parameters(), lr=1e-2)
    of_critic = torch.optim.SGD(critic.parameters(), lr=1e-2)
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
                (-critic(generator[1](hidden)).mean()).backward()
                of_generator.step()
    bad = {(f.name, f.cause) for each in w.reports for f in each.report.findings if f.alarming}
    assert bad == {("generator.0.weight", "staircase"), ("generator.0.bias", "staircase")}, str(w)
    assert [each.why for each in w.reports if not each.healthy] == [
        "the first with another optimizer"
    ]
