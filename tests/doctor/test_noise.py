"""A cause of zeros is proven: noise through a part of the graph, judged by a whole backward."""

from itertools import count

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_surprises.backward import noise as doctors_noise
from autograd_surprises.backward.noise import arriving_at, maker_of_zeros, sent
from autograd_surprises.backward.watched_backward import Backward
from autograd_surprises.doctor import explain, trace
from autograd_surprises.facts.graph import edge_of


def network(seed):
    """A random network, its input among the leaves, with many ways to lose a part of a gradient."""
    torch.manual_seed(seed)
    table, rows = nn.Embedding(12, 6), torch.randint(12, (5,))
    layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))
    parts = [
        lambda h: h.relu(),
        lambda h: F.dropout(h, 0.5),
        lambda h: h.clamp(-0.5, 0.5),
        lambda h: h[:, :4] @ torch.randn(4, 6),
        lambda h: torch.where(torch.rand(5, 6) > 0.5, h, 0.1),
        lambda h: h * (torch.rand(6) > 0.3),
        lambda h: h + F.max_pool1d(h, 2).repeat(1, 2),
        lambda h: F.layer_norm(h, (6,)),
        lambda h: h.softmax(1),
    ]
    hidden = table(rows)
    for layer in layers:
        for k in torch.randint(len(parts), (2,)):
            hidden = parts[k](hidden)
        hidden = layer(hidden)
    loss = F.cross_entropy(hidden, torch.randint(6, (5,)))
    return loss, [table.weight, *layers.parameters()]


def filled_by(loss, leaf, node):
    """The gradient of a leaf in a whole backward where noise fills the zeros that leave a node."""

    def fill(left, arrived):
        random = torch.Generator().manual_seed(1)
        return tuple(
            g if g is None else torch.where(g == 0, torch.randn(g.shape, generator=random), g)
            for g in left
        )

    handle = node.register_hook(fill)
    (gradient,) = torch.autograd.grad(loss, leaf, retain_graph=True)
    handle.remove()
    return gradient


def suspects(backward, leaf):
    return [step for step, _, _ in backward.main_way(*edge_of(leaf))]


def test_a_step_that_is_blamed_made_most_of_the_zeros(monkeypatch):
    monkeypatch.setattr(doctors_noise, "TRIES", 30)
    blamed = set()
    for seed in range(30):
        loss, leaves = network(seed)
        backward = Backward(loss.grad_fn)
        backward.run(loss, None)
        for leaf in leaves:
            zeros = backward.grads[id(leaf)].zeros
            if zeros is None:
                continue
            step = maker_of_zeros(backward, zeros, edge_of(leaf), suspects(backward, leaf))
            if step is not None:
                blamed.add(step.kind)
                filled = filled_by(loss, leaf, step.node)
                assert (filled[zeros] != 0).sum() >= 0.5 * zeros.sum(), (seed, step.name)
    assert len(blamed) >= 6, blamed


def relu_below_a_mask():
    """Both are on the way to the leaf, and the relu, which is nearer, stops something, too."""
    x = torch.tensor([1.0, 2.0, 3.0, -4.0], requires_grad=True)
    mask = torch.tensor([0.0, 0.0, 1.0, 1.0])
    return (x.relu() * mask).sum(), x, "Mul"


def relu_that_stops_most():
    x = torch.tensor([-1.0, -2.0, -3.0, 4.0], requires_grad=True)
    return (x.relu() * torch.tensor([1.0, 1.0, 1.0, 0.0])).sum(), x, "Relu"


def one_zero_each():
    """None of the three masks made most of the zeros."""
    x = torch.ones(4, requires_grad=True)
    first, second, third, _ = 1 - torch.eye(4)
    return (x * first * second * third).sum(), x, None


@pytest.mark.parametrize("make", [relu_below_a_mask, relu_that_stops_most, one_zero_each])
def test_the_step_that_made_the_zeros_is_found(make):
    loss, x, kind = make()
    backward = Backward(loss.grad_fn)
    backward.run(loss, None)
    (gradient,) = torch.autograd.grad(loss, x, retain_graph=True)
    zeros = gradient == 0
    step = maker_of_zeros(backward, zeros, edge_of(x), suspects(backward, x))
    assert (step and step.kind) == kind


def test_cancelling_and_blocking_are_told_apart():
    x = torch.ones(3, requires_grad=True)
    for loss, through in [((x - x.mean()).sum(), True), (x.round().sum(), False)]:
        backward = Backward(loss.grad_fn)
        backward.run(loss, None)
        below_the_sum = backward.steps[loss.grad_fn.next_functions[0][0]]
        arrived = sent(backward, arriving_at(below_the_sum), below_the_sum.edges[0])
        assert bool(arrived.any()) is through


# ---- Nobody sees the noise


class Counted(torch.autograd.Function):
    runs = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        Counted.runs += 1
        return grad_output * 2


def partly(x, through=lambda h: h):
    return through(x * 3).relu().sum()


def test_a_function_of_the_user_does_not_run_again():
    x, Counted.runs = torch.tensor([-1.0, 2.0], requires_grad=True), 0
    found = explain(partly(x, Counted.apply), {"x": x})["x"]
    assert (found.status, found.cause, Counted.runs) == ("partial", "", 1)


@pytest.mark.parametrize("traced", [False, True])
def test_a_hook_of_the_user_does_not_see_the_noise(traced):
    x, calls = torch.tensor([-1.0, 2.0], requires_grad=True), count()
    with trace() as t:
        hidden = x * 3
        hidden.register_hook(lambda gradient: [None, next(calls)][0])
        loss = hidden.relu().sum()
    found = (t.explain if traced else explain)(loss, {"x": x})["x"]
    assert (found.cause, next(calls)) == ("", 1)


def test_random_numbers_and_retained_gradients_stay():
    x, state = torch.tensor([-1.0, 2.0], requires_grad=True), torch.get_rng_state()
    hidden = x * 3
    hidden.retain_grad()
    assert explain(hidden.relu().sum(), {"x": x})["x"].cause == "dead-relu"
    assert hidden.grad is None and x.grad is None
    assert torch.equal(torch.get_rng_state(), state)


def test_what_cannot_run_again_has_no_cause(monkeypatch):
    def refuse(*arguments, **options):
        raise RuntimeError("not a second time")

    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    loss = partly(x)
    backward = Backward(loss.grad_fn)
    backward.run(loss, None)
    monkeypatch.setattr(doctors_noise, "gradients", refuse)
    zeros = torch.tensor([True, False])
    assert maker_of_zeros(backward, zeros, edge_of(x), suspects(backward, x)) is None


def test_a_checkpoint_is_looked_into():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    loss = checkpoint(lambda v: v.relu() * 2, x, use_reentrant=False).sum()
    assert explain(loss, {"x": x})["x"].cause == "dead-relu"


def test_complex_and_half_precision():
    for dtype in (torch.complex64, torch.bfloat16, torch.float64):
        x = torch.ones(4, dtype=dtype, requires_grad=True)
        loss = (x * torch.tensor([1, 0, 0, 0], dtype=dtype)).sum()
        assert (
            explain(loss.real if dtype.is_complex else loss, {"x": x})["x"].cause == "zero-factor"
        )


def test_elements_that_a_selection_reorders_do_not_correspond():
    x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
    picked = x.index_select(0, torch.tensor([1, 2, 0])) * torch.tensor([0.0, 1, 1])
    assert "stop in IndexSelect" not in explain(picked.sum(), {"x": x})["x"].node
