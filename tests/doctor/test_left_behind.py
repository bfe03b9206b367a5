"""Nothing is left behind: no tensor, no hook, no patched method, also after an error."""

import ast
import gc
import sys
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from weakref import ref

import pytest
import torch
import torch._dynamo
from torch import nn
from training import leaf, switches

from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.doctor import explain, interception, trace, watch
from autograd_surprises.recording import active_recorders, recorder, setup_lines
from autograd_surprises.recording.patches import Patches
from autograd_surprises.recording.places import OURS
from autograd_surprises.recording.setup_lines import built_at


class Refuses(nn.Module):
    def forward(self, x):
        raise ValueError("not this one")


class Angry(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        torch.rand(())
        raise KeyError("lost")


# ---- Tensors


def tensors_alive():
    gc.collect()
    return {id(thing) for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)}


def saturated(x):
    return torch.sigmoid(x * 200).sum()


def masked_too_late(x):
    return torch.where(x > 1, (x - 1).sqrt(), 0.0).sum()


def examined(x, loss_of, mode):
    with trace() as t:
        loss = loss_of(x)
    report = (explain if mode == "alone" else t.explain)(loss, {"x": x})
    loss.backward()  # so that the graph keeps no tensor, either
    x.grad = None
    return report


@pytest.mark.parametrize("loss_of", [saturated, masked_too_late])
@pytest.mark.parametrize("mode", ["alone", "traced"])
def test_a_report_keeps_no_tensor(mode, loss_of):
    x = leaf(1.0, 2.0)
    before = tensors_alive()
    report = examined(x, loss_of, mode)
    assert tensors_alive() <= before
    assert report["x"].cause in ("saturated", "masked-too-late")


def trained():
    """What has to be gone once nobody needs it: a model, its optimizer and a loss; its weights."""
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.ones(2, 3)).square().sum()
        loss.backward()
        optimizer.step()
    return [ref(each) for each in (model, optimizer, loss)], [ref(p) for p in model.parameters()]


def nothing():
    return None, *trained()


def a_trace():
    with trace() as t:
        return t, *trained()


def a_watch():
    with watch() as w:
        return w, *trained()


def a_report():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with trace() as t:
        loss = model(torch.ones(2, 3)).square().sum()
    report = t.explain(loss, model, optimizer=optimizer)
    loss.backward()
    return report, [ref(each) for each in (model, optimizer, loss, t)], [ref(model.weight)]


@pytest.mark.parametrize("make", [nothing, a_trace, a_watch, a_report])
def test_what_is_held_keeps_no_model_alive_and_when_it_is_gone_nothing_is_left(make):
    held, others, weights = make()
    gc.collect()  # a module is a cycle
    alive = [each() for each in others]
    if make is a_report:
        alive.pop()  # the picture needs the recording, and the leaves of the graph
    assert all(each is None for each in alive)
    assert make in (a_report, a_watch) or not any(each() is not None for each in weights)
    itself = ref(held) if held is not None else lambda: None
    del held, alive
    gc.collect()
    assert [each() for each in (itself, *others, *weights)].count(None) == 1 + len(others + weights)


def test_no_hook_stays_in_the_graph():
    x = leaf(1.0, 2.0)
    good, bad = (x * 2).sum(), Angry.apply(x).sum()
    explain(good, {"x": x})
    explain(bad, {"x": x})
    gc.collect()  # a hook would keep its Backward
    assert not [thing for thing in gc.get_objects() if type(thing) is Backward]


def test_after_an_error_in_a_backward_gradients_and_random_numbers_are_as_before():
    x = leaf(1.0, 2.0)
    kept = Angry.apply(x) * 3
    kept.retain_grad()
    loss = kept.sum()
    state = torch.get_rng_state()
    assert explain(loss, {"x": x}).findings[0].status == "error"
    assert x.grad is None and kept.grad is None
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.is_anomaly_enabled()


# ---- Patched methods


def test_after_an_error_in_a_module_the_trace_goes_on_and_ends():
    before, x = switches(), leaf(1.0)
    with trace() as t:
        with pytest.raises(ValueError):
            nn.Sequential(nn.Identity(), Refuses())(x)
        x.exp()
    assert [call.where.module for call in t.calls if call.name == "exp"] == [""]
    assert switches() == before


PATCHED = [
    (owner, name)
    for patches in (
        active_recorders.PATCHES,
        setup_lines.BUILDS,
        setup_lines.PATCHES,
        interception.PATCHES,
    )
    for owner, name, _ in patches.replacements
]
PATCHED.append((torch._dynamo.eval_frame, "_callback_from_stance"))
each_patched = pytest.mark.parametrize(
    "owner, name", PATCHED, ids=lambda part: getattr(part, "__name__", part)
)


def is_ours(function):
    return type(function) is FunctionType and function.__code__.co_filename.startswith(tuple(OURS))


def patched_now():
    """Each function of the doctor that a module or a class of torch has now."""
    modules = [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "torch"]
    owners = {id(m): m for m in modules}
    owners |= {id(t): t for m in modules for t in vars(m).values() if issubclass(type(t), type)}
    return {
        (owner, name)
        for owner in owners.values()
        for name, found in list(vars(owner).items())
        if is_ours(found.__func__ if type(found) is staticmethod else found)
    }


@contextmanager
def everything_on():
    with trace(), watch():
        yield


def test_the_list_of_patched_methods_is_complete_and_all_are_put_back():
    with everything_on():
        assert patched_now() == set(PATCHED)
    assert patched_now() == set()


def ways_to_replace(source):
    """What could replace a method in this text without Patches."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id in ("setattr", "mock"):
            found.append(node.id)
        for target in getattr(node, "targets", ()):
            text = ast.unparse(target)
            if isinstance(target, ast.Attribute) and text.split(".")[0] in ("torch", "nn", "F"):
                found.append(text)
    return found


def test_there_is_one_way_to_replace_a_method_of_torch():
    assert ways_to_replace("torch.exp = fast") and ways_to_replace("setattr(nn.Module, 'x', 1)")
    files = [path for folder in OURS for path in Path(folder).rglob("*.py")]
    ways = {path.name for path in files if ways_to_replace(path.read_text("utf-8"))}
    assert ways == {"patches.py"}


def test_a_replacement_lasts_until_its_last_user_leaves_and_is_inherited_again():
    def doubled(clamp, active):
        return lambda x, *bounds: clamp(2 * x if active else x, *bounds)

    patches = Patches((torch.Tensor, "clamp", doubled))
    with patches as outer_replaced:
        with patches as inner_replaced:
            pass
        assert (outer_replaced, inner_replaced) == (True, False)
        assert torch.ones(1).clamp(0, 3).item() == 2
    assert torch.ones(1).clamp(0, 3).item() == 1
    assert "clamp" not in vars(torch.Tensor)


def replaced_by_somebody(owner, name, monkeypatch):
    """Count its calls, as another library may; what monkeypatch undoes later is what was there."""
    below, counted = getattr(owner, name), []

    def somebodys(*args, **kwargs):
        counted.append(1)
        return below(*args, **kwargs)

    static = isinstance(vars(owner)[name], staticmethod)
    monkeypatch.setattr(owner, name, staticmethod(somebodys) if static else somebodys)
    return somebodys, counted


def use_every_patched_method():
    layer = nn.Linear(2, 1)
    nn.Identity().register_full_backward_hook(lambda *what: None)
    sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.ones(1, 2)).sum().backward()
    torch.autograd.backward(layer(torch.ones(1, 2)).sum())
    nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    nn.utils.clip_grad_value_(layer.parameters(), 1.0)
    layer.zero_grad()
    sgd.zero_grad()
    with torch.inference_mode():
        torch.compile(torch.neg, backend="eager")(torch.ones(1))
    return built_at(sgd)


@each_patched
def test_a_patch_that_somebody_puts_on_meanwhile_stays_and_works(owner, name, monkeypatch):
    monkeypatch.setattr(owner, name, vars(owner)[name])  # what is put back in the end
    with everything_on():
        somebodys, counted = replaced_by_somebody(owner, name, monkeypatch)
    assert getattr(owner, name) is somebodys
    assert use_every_patched_method() is None and counted
    del counted[:]
    with watch() as w, trace():
        assert use_every_patched_method() is not None
    assert counted and w.step == 1
    assert getattr(owner, name) is somebodys


@each_patched
def test_a_patch_that_somebody_takes_off_later_leaves_no_more_of_ours_each_time(
    owner, name, monkeypatch
):
    def depth():
        method, found = getattr(owner, name), 0
        while is_ours(method):
            place = method.__code__.co_freevars.index("original")
            method, found = method.__closure__[place].cell_contents, found + 1
        return found

    plain = getattr(owner, name)
    monkeypatch.setattr(owner, name, vars(owner)[name])
    for _ in range(3):
        with monkeypatch.context() as later, everything_on():
            replaced_by_somebody(owner, name, later)
            stays = everything_on()
            stays.__enter__()
            stays.__exit__(None, None, None)
        assert depth() <= 1
    with everything_on():
        pass
    assert getattr(owner, name) is plain


def test_a_wrapper_whose_time_is_over_records_nothing_twice(monkeypatch):
    monkeypatch.setattr(nn.Parameter, "__new__", vars(nn.Parameter)["__new__"])
    with trace():
        replaced_by_somebody(nn.Parameter, "__new__", monkeypatch)
    with trace() as t:
        nn.Parameter(torch.ones(1))
    assert [call.name for call in t.calls] == ["ones", "Parameter"]


def test_a_trace_that_cannot_begin_leaves_nothing_behind(monkeypatch):
    def refuse(self):
        raise RuntimeError("no mode here")

    before, t = switches(), trace()
    with monkeypatch.context() as patch:
        patch.setattr(recorder, "put_below", refuse)
        with pytest.raises(RuntimeError, match="no mode"):
            t.__enter__()
    assert switches() == before
    with t:
        torch.ones(1)
    assert [call.name for call in t.calls] == ["ones"]
