"""While somebody else records, traces, fakes or counts, the doctor is not there."""

import gc
import pickle
import sys
import warnings
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
from torch.utils.flop_counter import FlopCounterMode

from autograd_surprises import watch
from autograd_surprises.doctor import trace
from autograd_surprises.doctor.diagnosis import PACKED
from autograd_surprises.facts.processes import SELECTIVE
from autograd_surprises.recording.guest import NO_NUMBERS, Quietly, who_else


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def train(model=None, steps=3, around=lambda step: step()):
    """What three steps leave behind, to the last bit."""
    model = model or net()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        sgd.zero_grad()
        loss = F.mse_loss(model(torch.arange(8.0).view(2, 4)), torch.zeros(2, 1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        sgd.step()

    for _ in range(steps):
        around(step)
    return [p.tolist() for p in model.parameters() if not who_else([p])]


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen[getattr(getattr(func, "__self__", func), "__name__", "")] += 1
        return func(*args, **(kwargs or {}))


def flops():
    with FlopCounterMode(display=False) as counter:
        train()
    return counter.get_total_flops()


def flops_of_backward():
    """The step itself is outside of the counter."""
    counters, model = [], net()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        with FlopCounterMode(display=False) as counter:
            model(torch.ones(2, 4)).sum().backward()
        sgd.step()
        counters.append(counter.get_total_flops())
    return counters


def operations():
    with Operations() as mode:
        train()
    return mode.seen


def functions():
    with Functions() as mode:
        train()
    return mode.seen


def functions_in_each_step():
    mode = Functions()

    def counted(step):
        with mode:
            step()

    return train(around=counted), mode.seen


def functions_on_a_device():
    mode = Functions()
    with torch.device("cpu"), mode:
        train()
    with mode, torch.device("cpu"):
        train()
    return mode.seen, torch.get_default_device().type


def profiled():
    with torch.profiler.profile() as profile:
        train()
    return Counter({each.key: each.count for each in profile.key_averages() if "::" in each.key})


def profiled_by_autograd():
    with torch.autograd.profiler.profile() as profile:
        train()
    return Counter(each.name for each in profile.function_events if "::" in each.name)


def nodes(graph):
    return [str(node) for node in graph.nodes]


def exported(strict=False, **options):
    return nodes(torch.export.export(net(), (torch.ones(2, 4),), strict=strict, **options).graph)


def exported_for_any_batch():
    return exported(dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},))


def made_by_make_fx(mode="real", **options):
    made = make_fx(lambda x: F.softmax(x.sin() * 2, 1).sum(), tracing_mode=mode, **options)
    return nodes(made(torch.ones(2, 4)).graph)


def traced_by_jit():
    class Branches(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x  # warns

    graph = torch.jit.trace(Branches(), torch.ones(2)).inlined_graph
    return [node.kind() for node in graph.nodes()]


def fx_traced():
    return nodes(torch.fx.symbolic_trace(net()).graph)


def rehearsed_on_meta():
    with torch.device("meta"):
        train()
    return train()


def rehearsed_with_fake_tensors():
    with FakeTensorMode():
        train()
    return train()


def transforms():
    model = net()
    parameters = dict(model.named_parameters())

    def loss(weights, x):
        return torch.func.functional_call(model, weights, (x,)).square().sum()

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, torch.ones(3, 4))
    there = torch.func.jvp(lambda x: model(x), (torch.ones(4),), (torch.ones(4),))
    return [g.tolist() for g in each.values()], [t.tolist() for t in there], train(model)


def selective_checkpoints():
    operations = [torch.ops.aten.addmm.default]
    model, sgd_steps = net(), []
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.ones(2, 4, requires_grad=True)
        contexts = lambda: create_selective_checkpoint_contexts(operations)  # noqa: E731
        loss = checkpoint(model, x, use_reentrant=False, context_fn=contexts).sum()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        sgd_steps.append(loss.item())
    return sgd_steps


def compiled_loop():
    torch._dynamo.reset()
    model = net()
    sgd = torch.optim.SGD(model.parameters(), lr=0.125)  # exact, also as a tensor

    def steps(x):
        for _ in range(2):
            sgd.zero_grad()
            model(x).square().mean().backward()
            sgd.step()

    torch.compile(steps, backend="eager")(torch.ones(2, 4))
    return [p.tolist() for p in model.parameters()]


def wrapped(owner, name):
    calls, real = [], getattr(owner, name)

    def wrapper(*args, **kwargs):
        calls.append(name)
        return real(*args, **kwargs)

    def run():
        setattr(owner, name, wrapper)
        try:
            train()
        finally:
            setattr(owner, name, real)
        return len(calls), calls.clear()

    return run


def warned():
    x = torch.ones(2, requires_grad=True)
    y = torch.tensor(x * 2)  # warns of this line
    F.mse_loss(x, torch.ones(2, 1)).backward()
    F.softmax(y)
    nn.Softmax()(y)
    return (x * 2).grad


def warned_in_a_loop():
    with torch.device("cpu"):
        for _ in range(3):
            train(around=lambda step: (torch.tensor(torch.ones(1, requires_grad=True)), step()))


class Logging(torch.Tensor):
    """A wrapper without numbers of its own."""

    seen: list[str] = []

    @staticmethod
    def __new__(cls, inner):
        like = dict(dtype=inner.dtype, requires_grad=inner.requires_grad)
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, **like)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        plain = tree_map_only(cls, lambda each: each.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, cls, func(*plain[0], **plain[1]))


def logged_by_a_subclass():
    Logging.seen.clear()
    w = nn.Parameter(Logging(torch.ones(4, 1)))
    sgd = torch.optim.SGD([w], lr=0.1, foreach=False)
    for _ in range(3):
        sgd.zero_grad()
        (Logging(torch.ones(2, 4)) @ w).square().mean().backward()
        sgd.step()
    return [*Logging.seen], w.inner.tolist()


def unpacked_once():
    """Offloading of activations, as libraries do it: each is found once."""
    away = {}

    def pack(tensor):
        away[len(away)] = tensor.clone()
        return len(away) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda key: away.pop(key, None) + 0):
        found = train()
    return found, len(away)


class Recomputing(torch.autograd.Function):
    """A checkpoint as users write it: its backward runs once, and writes into .grad."""

    @staticmethod
    def forward(ctx, layer, x):
        ctx.layer, ctx.x = layer, x.detach()
        with torch.no_grad():
            return layer(x)

    @staticmethod
    def backward(ctx, arrived):
        x = ctx.x.detach().requires_grad_()
        del ctx.x
        with torch.enable_grad():
            torch.autograd.backward(ctx.layer(x), arrived)
        return None, x.grad


class Recomputed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), net()

    def forward(self, x):
        return Recomputing.apply(self.second, self.first(x))


def recomputed():
    torch.manual_seed(0)
    return train(Recomputed())


def hooks_that_warn():
    model = net()
    model[0].weight.register_hook(lambda gradient: warnings.warn("of the user's", stacklevel=1))
    return train(model)


WORK = {
    work.__name__: work
    for work in (
        train, flops, flops_of_backward, operations, functions, functions_in_each_step,
        functions_on_a_device, profiled, profiled_by_autograd, exported, exported_for_any_batch,
        made_by_make_fx, traced_by_jit, fx_traced, rehearsed_on_meta, rehearsed_with_fake_tensors,
        transforms, selective_checkpoints, compiled_loop, warned, warned_in_a_loop,
        recomputed, hooks_that_warn, logged_by_a_subclass, unpacked_once,
    )
}  # fmt: skip
WORK |= {
    "made_by_make_fx_of_fake_tensors": lambda: made_by_make_fx("fake"),
    "made_by_make_fx_of_symbols": lambda: made_by_make_fx("symbolic"),
    "made_by_make_fx_before_dispatch": lambda: made_by_make_fx(pre_dispatch=True),
    "a_wrapper_of_backward": wrapped(torch.Tensor, "backward"),
    "a_wrapper_of_autograd_backward": wrapped(torch.autograd, "backward"),
    "a_wrapper_of_autograd_grad": wrapped(torch.autograd, "grad"),
    "a_wrapper_of_a_function": wrapped(F, "mse_loss"),
}
if not torch.__version__.startswith("2.6."):  # which cannot where all runs eagerly, as in a trace
    WORK["strictly_exported"] = lambda: exported(strict=True)


def with_warnings(work):
    """Its result, and each warning with the line that it names."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    return result, [(str(w.message), w.category, w.filename, w.lineno) for w in caught]


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("doctor", [watch, trace])
def test_what_others_record_and_warn_of_is_as_without_the_doctor(name, doctor):
    work = WORK[name]
    with_warnings(work)  # what happens only once in a process
    plain = with_warnings(work)
    with doctor() as seen:
        assert with_warnings(work) == plain
    said = [seen.trouble] if doctor is trace else str(seen).split("\n")
    troubles = [each for each in said if each and (doctor is trace or "not be examined: " in each)]
    assert all(SELECTIVE in each or PACKED in each for each in troubles)
    assert not torch.overrides._get_current_function_mode_stack()


def test_what_is_replaced_can_be_pickled():
    with watch():
        for function in nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_:
            assert pickle.loads(pickle.dumps(function)) is function


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
