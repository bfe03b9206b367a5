"""The bytes that a graph keeps: counted once saved, gone once freed; nothing else changes."""

import gc

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from lessons.saved_tensors import saved_tensors

FLOAT = 4


class Swish(torch.autograd.Function):
    """x · sigmoid(x), which saves x only."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return grad_output * (s + x * s * (1 - s))


@pytest.fixture(autouse=True)
def no_garbage_collector():
    """Memory must be freed together with the graph: a reference cycle would keep it."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def x():
    return torch.linspace(-1, 2, 100, requires_grad=True)


def on_the_cpu(x):
    with torch.autograd.graph.save_on_cpu():
        return x.exp()


def checkpointed(use_reentrant):
    return lambda x: checkpoint(lambda x: x.exp().exp().exp(), x, use_reentrant=use_reentrant)


KEPT = {  # an operation, and how many tensors like x it keeps
    "two operations": (lambda x: x.exp().exp(), 2),
    "plain swish": (lambda x: x * x.sigmoid(), 2),
    "our swish": (lambda x: Swish.apply(x), 1),
    "twice by one": (lambda x: x * x, 1),
    "by two": (lambda x: x.sin() + x.cos(), 1),
    "in slices": (lambda x: x[:10] * x[90:], 1),
    "reentrant checkpoint": (checkpointed(True), 1),
    "checkpoint": (checkpointed(False), 1),
    "other hooks": (on_the_cpu, 0),
}


@pytest.mark.parametrize("operation, tensors", KEPT.values(), ids=KEPT)
def test_what_is_built_inside_is_counted_once_and_whole(operation, tensors, x):
    before = x.exp()
    with saved_tensors() as saved:
        y = operation(x)
    after = before.exp()
    assert y.requires_grad and after.requires_grad
    assert saved.bytes == tensors * 100 * FLOAT


def test_freed_by_backward_unless_it_retains_the_graph(x):
    with saved_tensors() as saved:
        y = x.exp().exp().sum()
    y.backward(retain_graph=True)
    assert saved.bytes == 2 * 100 * FLOAT
    y.backward()
    assert saved.bytes == 0


OPERATIONS = {
    "in place": lambda x: (x * 2).exp_().cos(),
    "a Function": lambda x: Swish.apply(x * 2),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_stay_the_same(name, x):
    """First and second gradients, for an upstream gradient whose entries all differ."""

    def derivatives():
        y = OPERATIONS[name](x)
        upstream = torch.arange(1.0, len(y) + 1)
        (slope,) = torch.autograd.grad(y, x, upstream, create_graph=True)
        return slope, *torch.autograd.grad(slope.sin().sum(), x)

    expected = derivatives()
    with saved_tensors():
        seen = derivatives()
    torch.testing.assert_close(seen, expected, rtol=0, atol=0)


def test_nested_blocks(x):
    with saved_tensors() as outer:
        y = x.exp()
        with saved_tensors() as inner:
            z = y.exp()
        y = z.exp()
    assert (outer.bytes, inner.bytes) == (3 * 100 * FLOAT, 100 * FLOAT)
    del y
    assert (outer.bytes, inner.bytes) == (2 * 100 * FLOAT, 100 * FLOAT)


def test_an_exception_closes_the_block(x):
    with pytest.raises(ZeroDivisionError), saved_tensors() as saved:
        y = x.exp()
        y / (1 // 0)
    after = y.exp()
    assert saved.bytes == 100 * FLOAT
    assert after.requires_grad
    torch.func.grad(torch.sum)(x.detach())  # no hooks are left
