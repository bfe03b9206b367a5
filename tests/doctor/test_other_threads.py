"""What another thread does, and what the signature and the path of a module are."""

import gc
import inspect
import threading

import pytest
import torch
import torch._dynamo
from torch import nn
from training import leaf

from autograd_surprises.doctor import trace

# ---- Threads


class Waits(nn.Module):
    """Its forward lasts until it is told to go on."""

    def __init__(self):
        super().__init__()
        self.entered, self.go_on = threading.Event(), threading.Event()

    def forward(self, x):
        self.weight = nn.Parameter(x)
        self.entered.set()
        self.go_on.wait(10)
        return x


@pytest.mark.parametrize("other_is_traced", [False, True])
def test_what_another_thread_does_is_not_recorded(other_is_traced):
    def work():
        if other_is_traced:
            with trace() as its:
                waits(torch.ones(2))
            traces.append(its)
        else:
            waits(torch.ones(2))

    waits, x, traces, model = Waits(), leaf(1.0), [], nn.Sequential(nn.Tanh())
    other = threading.Thread(target=work)
    with trace() as t:
        other.start()
        waits.entered.wait(10)
        model(x.exp())
        waits.go_on.set()
        other.join()
    assert [(call.name, call.where.module) for call in t.calls] == [("exp", ""), ("tanh", "0")]
    if other_is_traced:
        assert [call.name for call in traces[0].calls] == ["ones", "Parameter"]
        assert traces[0].calls[1].where.module == "Waits"


def test_a_patched_method_keeps_its_signature():
    plain = inspect.signature(torch.optim.Optimizer.__init__)
    with trace():
        assert inspect.signature(torch.optim.Optimizer.__init__) == plain


def test_the_path_of_a_module_that_is_gone_is_not_that_of_a_new_one():
    paths = set()
    with trace() as t:
        for _ in range(30):
            nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))(torch.ones(1, 2))
            gc.collect(1)  # what this round made
            nn.Linear(2, 2)(torch.ones(1, 2))
            paths.add(t.calls[-1].module)
    assert paths == {"Linear"}
