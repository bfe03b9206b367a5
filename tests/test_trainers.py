"""The callbacks for Lightning and transformers, in stand-ins for their loops.

`make real` runs them in the real ones: benchmarks/real/in_trainers.py.
"""

import pickle
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

from autograd_surprises import trainers
from autograd_surprises.trainers import SpeakingWatch


class Callback:
    """In both frameworks, callbacks inherit what they do not override."""


@pytest.fixture(autouse=True)
def frameworks(monkeypatch):
    for name, base in (("lightning.pytorch", "Callback"), ("transformers", "TrainerCallback")):
        module = ModuleType(name)
        setattr(module, base, Callback)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    yield
    trainers._lightning_callback.cache_clear()
    trainers._transformers_callback.cache_clear()


def steps_of(loss, steps=3):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(1, steps + 1):
        loss(model(torch.ones(2, 4)), number).backward()
        optimizer.step()
        optimizer.zero_grad()
        yield number


def square(y, number):
    return y.square().mean()


def nan_in_the_third(y, number):
    return (y * (number != 3)).abs().log().mean()


def fit(doctor, loss=square):
    """As Lightning does, which also gives the callback two methods."""
    logged = []
    module = SimpleNamespace(log_dict=logged.append)
    doctor.log = doctor.log_dict = module.log_dict
    doctor.on_train_start(None, module)
    try:
        for number in steps_of(loss):
            doctor.on_train_batch_end(None, module, None, None, number)
    except Exception as error:
        doctor.on_exception(None, module, error)
        raise
    doctor.on_train_end(None, module)
    return logged


def train(doctor, loss=square):
    """As transformers does: a log resets `should_log`, and without it, no loss is logged."""
    logged, control = [], SimpleNamespace(should_log=False)

    def log(sizes):
        logged.append(sizes)
        control.should_log = False

    doctor.log = log if doctor.log else None
    doctor.on_train_begin(None, None, control, model=None)
    for number in steps_of(loss):
        control.should_log = number > 1
        doctor.on_step_end(None, None, control, model=None)
        if control.should_log:
            log("loss")
    doctor.on_train_end(None, None, control, model=None)
    return logged


@pytest.mark.parametrize(("name", "run"), [("LightningDoctor", fit), ("TransformersDoctor", train)])
def test_a_report_is_printed_when_there_is_one(name, run, capsys):
    doctor = getattr(trainers, name)()
    run(doctor, nan_in_the_third)
    said = capsys.readouterr().err
    assert [report.step for report in doctor.watched.reports] == [1, 3]
    assert "step 3" in said and "first bad step: 3" in said and __file__.rpartition("/")[2] in said
    run(doctor)
    said = capsys.readouterr().err
    assert doctor.watched.healthy and "no alarm" in said and "step: 3" not in said


def test_lightning_logs_only_if_asked():
    assert fit(trainers.LightningDoctor()) == []
    logged = fit(trainers.LightningDoctor(log=True))
    assert len(logged) == 3 and {*logged[0]} == {"doctor/gradient_norm", "doctor/moved_share"}


def test_transformers_logs_its_loss_as_before():
    assert train(trainers.TransformersDoctor()) == ["loss"] * 2
    logged = train(trainers.TransformersDoctor(log=print))
    assert [each == "loss" for each in logged] == [False, True] * 2


@pytest.mark.parametrize("name", ["LightningDoctor", "TransformersDoctor"])
def test_nothing_stays_after_an_error(name):
    def fails(y, number):
        raise ValueError("the end")

    doctor, before = getattr(trainers, name)(), torch.Tensor.backward
    with pytest.raises(ValueError, match="the end"):
        fit(doctor, fails) if name == "LightningDoctor" else train(doctor, fails)
    doctor.stop()
    assert torch.Tensor.backward is before
    assert torch.overrides._len_torch_function_stack() == 0


def test_a_doctor_can_be_pickled():
    doctor = trainers.LightningDoctor(steps=(1, 5))
    assert pickle.loads(pickle.dumps(doctor)).steps == (1, 5)


def test_the_sizes_are_those_of_the_step():
    w, b, unused = (torch.ones(count, requires_grad=True) for count in (3, 1, 9))
    sgd = torch.optim.SGD([w, b, unused], lr=0.5)
    with SpeakingWatch(measures=True) as watched:
        (torch.tensor([3.0, 4.0, 0.0]) * w).sum().add(b.sum() * 0).backward()
        sgd.step()
    assert watched.sizes == {"doctor/gradient_norm": 5.0, "doctor/moved_share": 0.5}
    assert torch.equal(w.detach(), torch.tensor([-0.5, -1.0, 1.0]))


def test_a_framework_is_imported_when_a_callback_is_made(monkeypatch):
    for name, make in (
        ("lightning.pytorch", trainers.LightningDoctor),
        ("transformers", trainers.TransformersDoctor),
    ):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=name):
            make()
