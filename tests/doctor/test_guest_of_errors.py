"""Which modes are noticed, what passes unseen, and what goes wrong inside of the doctor."""

import gc
import sys

import pytest
import torch
from test_guest import Operations, rehearsed_on_meta, rehearsed_with_fake_tensors, train
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_surprises import watch
from autograd_surprises.doctor import trace
from autograd_surprises.recording.guest import NO_NUMBERS, Quietly, who_else

MODES = {
    "torch._subclasses.fake_tensor": ["FakeTensorMode"],
    "torch._subclasses.functional_tensor": ["FunctionalTensorMode"],
    "torch._subclasses.schema_check_mode": ["SchemaCheckMode"],
    "torch.fx.experimental.proxy_tensor": ["ProxyTorchDispatchMode"],
    "torch.testing._internal.logging_tensor": ["LoggingTensorMode"],
    "torch.distributed._tools.mem_tracker": ["MemTracker"],
    "torch.distributed.tensor.debug": ["CommDebugMode"],
}


def test_each_mode_of_torch_is_noticed_by_one_predicate():
    """All that torch has are dispatch modes, and any dispatch mode is noticed."""
    for module, names in MODES.items():
        __import__(module)
        assert all(issubclass(getattr(sys.modules[module], n), TorchDispatchMode) for n in names)
    assert who_else() == ""
    with Operations():
        assert who_else() == "a dispatch mode"
    with FakeTensorMode():
        fake = torch.ones(1)
        assert who_else([fake]) == NO_NUMBERS
    assert who_else([fake]) == NO_NUMBERS and who_else() == ""


def test_what_was_not_looked_at_is_counted_and_named():
    def counted(step):
        with Operations():
            step()

    with watch() as w:
        train(steps=2, around=counted)
        train(steps=3)
    assert w.step == 5
    assert "2 not looked at, because of a dispatch mode" in str(w).splitlines()[0]


def test_a_rehearsal_without_numbers_is_no_step():
    with watch() as w:
        rehearsed_on_meta()
        rehearsed_with_fake_tensors()
    assert w.step == 6 and [each.step for each in w.reports][:1] == [1] and w.healthy


PLACES = [
    "before_backward", "after_backward", "before_optimizer", "after_optimizer",
    "before_clipping", "before_clearing", "optimizer_built",
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_an_error_of_ours_ends_nothing_and_is_told(place, monkeypatch):
    def broken(self, *what):
        raise ZeroDivisionError("ours")

    plain = train()
    monkeypatch.setattr(watch, place, broken)
    with watch() as w:
        assert train() == plain
    assert "ZeroDivisionError: ours" in w.summary or not w.step
    assert not w.healthy


def test_an_error_while_a_call_is_noted_ends_nothing_and_is_told(monkeypatch):
    def broken(self, *what):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(trace, "_note", broken)
    with trace() as t:
        assert torch.ones(2).exp().tolist() == torch.ones(2).exp().tolist()
    assert t.trouble == "ZeroDivisionError: ours"


def test_what_the_user_raises_and_what_ends_the_process_comes_out():
    with pytest.raises(KeyboardInterrupt), Quietly(print):
        raise KeyboardInterrupt
    with pytest.raises(RuntimeError, match="does not require grad"), watch():
        torch.ones(1).backward()


class OwnParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(2, 2), nn.Linear(2, 1)

    def parameters(self):
        return [*self.first.parameters(), *self.last.parameters()]

    def forward(self, x):
        return self.last(self.first(x).round())


def test_a_module_with_parameters_of_its_own_is_examined():
    model = OwnParameters()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch() as w:
        model(torch.ones(4, 2)).square().mean().backward()
        sgd.step()
    assert {(f.name, f.cause) for f in w.reports[0].report.findings if f.alarming} == {
        ("first.weight", "staircase"), ("first.bias", "staircase")
    }  # fmt: skip


def test_borrowed_frames_are_few():
    """One for each line that calls torch, however often it does."""
    from autograd_surprises.recording import guest

    with trace():
        train()
        before = len(guest._borrowed)
        train(steps=20)
    assert len(guest._borrowed) == before
    gc.collect()
