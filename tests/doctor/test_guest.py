"""While somebody else records, traces, fakes or counts, the doctor is not there."""

import pickle
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
from autograd_surprises.recording.guest import who_else


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


def seen_by(kind):
    with kind() as mode:
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


def nodes(graph):
    return [str(node) for node in graph.nodes]


def exported(strict=False, **options):
    return nodes(torch.export.export(net(), (torch.ones(2, 4),), strict=strict, **options).graph)


def made_by_make_fx(mode="real", **options):
    made = make_fx(lambda x: F.softmax(x.sin() * 2, 1).sum(), tracing_mode=mode, **options)
    return nodes(made(torch.ones(2, 4)).graph)


def traced_by_jit():
    class Branches(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x  # warns

    graph = torch.jit.trace(Branches(), torch.ones(2)).inlined_graph
    return [node.kind() for node in graph.nodes()]


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


WORK = {
    work.__name__: work
    for work in (
        train, flops, functions_in_each_step, functions_on_a_device, profiled, exported,
        made_by_make_fx, traced_by_jit, rehearsed_on_meta, rehearsed_with_fake_tensors, transforms,
        selective_checkpoints, compiled_loop, warned, warned_in_a_loop, recomputed,
        logged_by_a_subclass, unpacked_once,
    )
}  # fmt: skip
WORK |= {
    "made_by_make_fx_of_symbols": lambda: made_by_make_fx("symbolic"),
    "made_by_make_fx_before_dispatch": lambda: made_by_make_fx(pre_dispatch=True),
    "operations": lambda: seen_by(Operations),
    "functions": lambda: seen_by(Functions),
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
@pytest.mark.parametrize("doctor", [watch, pytest.param(trace, marks=pytest.mark.slow)])
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
