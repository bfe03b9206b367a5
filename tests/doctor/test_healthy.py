"""The doctor raises no false alarm, and changes nothing: training goes on to the last bit."""

import ast
import collections
import functools
import random
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_surprises.doctor import explain, trace
from cases.case import Step
from cases.case import case as register
from cases.claims import noting_blame, seed, untrue
from cases.rule_ids import IS_PINNED, ids, judgement, stored, told_to_step
from cases.small import HEALTHY
from cases.small.short_steps import regression
from cases.unchanged import changed

SCREEN = 40  # lines that fit on one
each_healthy = pytest.mark.parametrize("case", HEALTHY.values(), ids=HEALTHY)
SMALL = {name: case for name, case in HEALTHY.items() if not case.source}
each_small = pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)


def test_each_step_and_bug_has_a_name_of_its_own():
    """Those of other libraries are registered beside ours, where these are installed."""
    made = collections.defaultdict(list)
    for file in (Path(__file__).parents[2] / "cases").rglob("*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            for by in getattr(node, "decorator_list", ()):
                if (text := ast.unparse(by)).startswith("case("):
                    made[bool(by.args) or "cause=" in text].append(node.name)
    for names in made.values():
        assert len(names) > 50
        assert [name for name, times in collections.Counter(names).items() if times > 1] == []


def accept(report, case, updated=False):
    assert report.healthy, str(report)
    said = {(found.status, found.cause) for found in report.findings if found.status != "partial"}
    said.discard(("ok", ""))
    assert said <= case.normal and (updated or said == case.normal), str(report)
    assert len(str(report).splitlines()) <= SCREEN


@each_healthy
def test_with_a_trace_it_says_what_is_true_and_changes_nothing(case):
    found = judgement(case.name)
    assert not (found.alarms or found.untrue or found.changed), found
    assert len(found.said.text.splitlines()) <= SCREEN


@each_healthy
def test_it_is_told_what_stands_in_rule_ids_json(case):
    now, before = told_to_step(case.name), stored()["healthy steps"].get(case.name)
    if not IS_PINNED:
        now, before = ids(now), ids(before)
    assert now == before, "is that right? Then: python -m cases.rule_ids"


def test_no_step_of_rule_ids_json_is_gone():
    assert set(stored()["healthy steps"]) == set(HEALTHY)


@each_small
def test_alone_it_finds_a_healthy_step_healthy(case):
    seed()
    step = case.build()
    accept(explain(step.compute(), step.model), case)


@each_small
def test_the_model_may_be_built_inside_the_trace(case):
    seed()
    with trace() as recording:
        step = case.build()
        optimizer = torch.optim.Adam(step.model.parameters())
        loss = step.compute()
    accept(recording.explain(loss, optimizer, model=step.model, optimizer=optimizer), case)


@each_small
def test_a_whole_step_may_be_traced(case):
    seed()
    step = case.build()
    optimizer = torch.optim.Adam(step.model.parameters())
    with trace() as recording:
        step.compute().backward()
        optimizer.step()
        optimizer.zero_grad()
        loss = step.compute()
    report = recording.explain(loss, step.model, model=step.model, optimizer=optimizer)
    accept(report, case, updated=True)


# ---- The judge itself


def half_dead():
    """A layer whose gradient is 0 where the second relu is off, and nowhere else."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 8), nn.ReLU())
    with torch.no_grad():
        model[2].bias[:4] = -100.0
    return model, torch.randn(16, 4)


def claims(model, batch, blame):
    """What the judge refutes if the doctor blamed the step of this kind for every partial."""
    with noting_blame() as blamed, trace() as t:
        loss = model(batch).sum()
        report = t.explain(loss, model)
    step = next(s for s in report.backward.steps.values() if s.kind == blame)
    blamed.update(dict.fromkeys(blamed, step))
    return untrue(report, loss, Step(model, lambda: loss), blamed)


def test_the_judge_refutes_the_wrong_step():
    assert claims(*half_dead(), blame="Relu") == []
    assert any("2.weight" in said for said in claims(*half_dead(), blame="Sum"))


def test_a_step_that_changes_something_is_noticed():
    def build():
        model, own = nn.Linear(2, 1), random.Random(0)
        model.weight.register_hook(lambda g: own.random() * g)  # once more for the doctor
        return Step(model, lambda: model(torch.ones(1, 2)).sum())

    assert changed(build) == ["parameters", "gradients"]


def test_two_steps_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two cases"):
        register()(regression)


# ---- Nothing changes. A loop calls look(loss, model) between forward and backward, in each step.

LOOPS = {}


def loop(function):
    LOOPS[function.__name__] = function
    return function


def data():
    return torch.randn(8, 3), torch.randn(8, 1)


def small_model():
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))


def train(look, model, loss_of, rounds=1):
    """Three steps; each adds up the gradients of so many rounds."""
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        for _ in range(rounds):
            x, target = data()
            with look:
                loss = loss_of(x, target)
            look(loss, model)
            loss.backward()
        optimizer.step()
    return model, optimizer


@loop
def dropout_and_batch_norm(look):
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
    return *train(look, model, lambda x, target: F.mse_loss(model(x), target)), []


@loop
def retained_gradient(look):
    model, kept = small_model(), []

    def loss_of(x, target):
        kept.append(model[:2](x))
        kept[-1].retain_grad()
        return F.mse_loss(model[2](kept[-1]), target)

    return *train(look, model, loss_of), [hidden.grad for hidden in kept]


@loop
def tensor_hooks(look):
    model = small_model()
    model[0].weight.register_hook(lambda grad: grad * 2)

    def loss_of(x, target):
        hidden = model[:2](x)
        hidden.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
        return F.mse_loss(model[2](hidden), target)

    return *train(look, model, loss_of), []


@loop
def post_accumulate_hook(look):
    """This hook runs after .grad is written: only in the real backward()."""
    model, kept = small_model(), []
    model[0].weight.register_post_accumulate_grad_hook(lambda p: kept.append(p.grad.clone()))
    return *train(look, model, lambda x, target: F.mse_loss(model(x), target)), kept


@loop
def accumulated_gradients(look):
    model = small_model()
    return *train(look, model, lambda x, target: F.mse_loss(model(x), target) / 2, rounds=2), []


@loop
def checkpointed_batch_norm(look):
    """The checkpoint runs its block again in backward, and the norm then counts a second time."""
    block = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
    model = nn.ModuleList([block, nn.Linear(8, 1)])

    def loss_of(x, target):
        return F.mse_loss(model[1](checkpoint(block, x, use_reentrant=False)), target)

    return *train(look, model, loss_of), []


@loop
def checkpoint_with_nan(look):
    """Where a NaN is explained, what the steps keep is read, and the checkpoint runs many times."""
    block = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())
    model = nn.ModuleList([block, nn.Linear(8, 1)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with look:
        loss = model[1](checkpoint(block, data()[0], use_reentrant=False)).log().sum()
    look(loss, model)
    loss.backward()
    return model, optimizer, []


class PerSample:
    """Gradients of each sample, as opacus computes them: a forward hook pushes, backward pops."""

    def __init__(self, model):
        for module in model:
            if isinstance(module, nn.Linear):
                module.kept, module.weight.grads = [], []
                module.register_forward_hook(self.push)
                module.register_full_backward_hook(functools.partial(self.pop, scale=2.0))

    def push(self, module, inputs, output):
        module.kept.append(inputs[0].detach())

    def pop(self, module, grad_input, grad_output, scale):
        x = module.kept.pop()
        module.weight.grads.append(scale * torch.einsum("bo,bi->boi", grad_output[0], x))


@loop
def per_sample_gradients(look):
    model, sizes = small_model(), []
    PerSample(model)
    model[1].register_full_backward_hook(lambda module, inner, outer: sizes.append(outer[0].norm()))

    def loss_of(x, target):
        return F.mse_loss(model(x.requires_grad_()), target)

    return *train(look, model, loss_of), [*sizes, *model[0].weight.grads]


class NoDoctor(nullcontext):
    def __call__(self, loss, model):
        pass


class Doctor(nullcontext):
    def __call__(self, loss, model):
        print(explain(loss, model))


class TracingDoctor(trace):
    def __call__(self, loss, model):
        print(self.explain(loss, model, model=model))


def hooks(module):
    """Every hook of a module and of its parameters, as numbers of hooks."""
    kinds = [name for name in vars(module) if "hooks" in name]
    counts = {name: len(vars(module)[name]) for name in kinds}
    for name, parameter in module.named_parameters(recurse=False):
        for kind in ("_backward_hooks", "_post_accumulate_grad_hooks"):
            counts[f"{name}{kind}"] = len(getattr(parameter, kind, None) or ())
    return counts


def global_hooks():
    module = torch.nn.modules.module
    return {
        name: len(value)
        for name, value in vars(module).items()
        if name.startswith("_global_") and hasattr(value, "__len__")
    }


def state_after(train, look):
    torch.manual_seed(0)
    model, optimizer, kept = train(look)
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"{name}.grad": p.grad for name, p in model.named_parameters()}
    tensors |= {f"kept {i}": value for i, value in enumerate(kept)}
    for i, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer {i} {name}": value for name, value in state.items()}
    tensors["random numbers"] = torch.get_rng_state()
    numbers = {name: p._version for name, p in model.named_parameters()}
    numbers |= {name: hooks(module) for name, module in model.named_modules()}
    numbers["global hooks"] = global_hooks()
    return tensors, numbers


@pytest.mark.parametrize("look", [Doctor(), TracingDoctor()], ids=["alone", "traced"])
@pytest.mark.parametrize("train", LOOPS.values(), ids=LOOPS)
def test_training_is_the_same_to_the_last_bit(train, look, capsys):
    tensors, numbers = state_after(train, NoDoctor())
    seen_tensors, seen_numbers = state_after(train, look)
    assert seen_numbers == numbers
    assert set(seen_tensors) == set(tensors)
    different = [name for name in tensors if not torch.equal(tensors[name], seen_tensors[name])]
    assert not different


@pytest.mark.parametrize("mode", ["alone", "traced"])
def test_every_switch_of_torch_is_where_it_was(mode):
    def switches():
        return (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_anomaly_enabled(),
            torch.is_anomaly_check_nan_enabled(),
            torch.overrides._get_current_function_mode_stack(),
            torch.tensor.__module__,
            nn.Parameter.__new__,
            torch.from_numpy,
        )

    before = switches()
    weight = torch.ones(3, requires_grad=True)
    if mode == "alone":
        explain((weight * 2).sum(), weight)
    else:
        with trace() as recording:
            loss = (weight * 2).sum()
        recording.explain(loss, weight)
    assert switches() == before


def test_a_value_that_is_corrected_by_a_detached_term_is_meant():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    with trace() as t:
        surrogate, value = weight.exp().sum(), weight.abs().sum()
        loss = surrogate + (value - surrogate).detach() + 0.1 * value.detach()
    assert t.explain(loss, {"weight": weight}).healthy


@pytest.mark.parametrize("set_to_none", [True, False])
def test_gradients_are_cleared_late_or_belong_to_another_step(set_to_none):
    with trace() as t:
        generator, critic = nn.Linear(2, 3), nn.Linear(3, 1)
        steps = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (critic, generator)]
        for _ in range(3):
            for optimizer, sign in zip(steps, (1, -1), strict=True):
                loss = sign * critic(generator(torch.rand(4, 2))).square().mean()
                optimizer.zero_grad(set_to_none)
                loss.backward()
                optimizer.step()
        for _ in range(2):  # accumulated on purpose
            critic(generator(torch.rand(4, 2))).square().mean().backward()
        loss = critic(generator(torch.rand(4, 2))).square().mean()
    report = t.explain(loss, critic)
    assert "accumulated" not in {found.cause for found in report.findings}
