"""watch() changes nothing: not a bit, not a method, not another thread."""

import multiprocessing
import signal
import threading
from contextlib import nullcontext

import pytest
import torch
import torch._dynamo
from torch import nn
from training import fit, is_recording, started, switches

from autograd_surprises import watch
from autograd_surprises.backward.gradient_norms import norms
from autograd_surprises.doctor.watch import full_steps

# ---- It changes nothing


def test_training_is_the_same_to_the_bit():
    ends = []
    for watched in (False, True):
        model, optimizer = started()
        if watched:
            with watch(model, optimizer, steps=(1, 5, 6)) as w:
                fit(model, optimizer, 20)
            assert len(w.reports) == 3
        else:
            fit(model, optimizer, 20)
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
            fit(run, optimizer, 4)
        ends.append([*model.state_dict().values(), torch.tensor(len(graphs))])
    assert all(map(torch.equal, *ends)) and ends[0][-1] == 1
    assert w.healthy and len(w.reports) == 2


def test_everything_is_put_back_also_after_an_error_and_the_next_watch_begins_anew():
    before = switches()
    model, optimizer = started()
    with pytest.raises(ZeroDivisionError), watch(model, optimizer) as first:
        fit(model, optimizer, 1, lambda y, step: (y * 0).log().mean())
        raise ZeroDivisionError
    assert switches() == before
    model, optimizer = started()
    with watch(model, optimizer) as second:
        fit(model, optimizer, 2)
    assert (first.step, first.healthy, second.step, second.healthy) == (1, False, 2, True)


def test_a_watch_cannot_be_entered_twice_and_two_may_be_nested():
    model, optimizer = started()
    before = switches()
    with watch() as outer, watch() as inner:
        with pytest.raises(RuntimeError, match="active already"), inner:
            pass
        fit(model, optimizer, 2)
    assert outer.step == inner.step == 2 and outer.healthy and inner.healthy
    assert switches() == before


def test_another_thread_is_not_watched():
    model, optimizer = started()
    with watch() as w:
        in_a_thread(fit, model, optimizer, 2)
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
        fit(model, optimizer, 1)
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
        fit(model, optimizer, 2)
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
