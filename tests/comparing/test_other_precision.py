"""Steps in float64: all numbers, the same random numbers, and nothing of the user's changed."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograd_surprises.comparing.one_step import run_step
from autograd_surprises.comparing.other_precision import in_precision

X = torch.randn(16, 8, generator=torch.Generator().manual_seed(0))
IMAGES = X.view(2, 1, 8, 8)
TOKENS = torch.arange(16).view(4, 4) % 10
kept = torch.zeros(16, 8)


def noisy(model):
    noise = torch.randn(16, 8) + torch.rand_like(X) + X.new_empty(16, 8).normal_()
    noise = noise + torch.zeros(8).uniform_() + torch.bernoulli(torch.full((8,), 0.3))
    return model(X + noise + torch.randperm(8) + torch.randint(3, (8,))).square().mean()


def in_place(model):
    kept.copy_(X)
    first = kept[0]
    first += 1
    total = torch.zeros(16, 4)
    total += model(kept * 2)
    return (total * torch.ones(16, 4)).square().mean()


def under_autocast(model):
    with torch.autocast("cpu", torch.bfloat16):
        return model(X).float().square().mean()


def dropout(model):
    return F.dropout(model(X), 0.4).square().mean()


def attention(model):
    heads = model(X)[None]
    return F.scaled_dot_product_attention(heads, heads, heads).square().mean()


def recurrent(model):
    return model(X[:, None])[0].square().mean()


STEPS = {
    "noise": (nn.Linear(8, 4), noisy),
    "in place": (nn.Linear(8, 4), in_place),
    "dropout": (nn.Linear(8, 4), dropout),
    "autocast": (nn.Linear(8, 4), under_autocast),
    "attention": (nn.Linear(8, 4), attention),
    "convolution": (nn.Conv2d(1, 2, 3), lambda model: model(IMAGES).square().mean()),
    "embedding": (nn.EmbeddingBag(10, 4), lambda model: model(TOKENS).square().mean()),
    "lstm": (nn.LSTM(8, 4, num_layers=2, dropout=0.3), recurrent),
    "bfloat16": (
        nn.Linear(8, 4).bfloat16(), lambda model: model(X.bfloat16()).float().square().mean()
    ),
}  # fmt: skip


def gradients(model, step, parameters):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return run_step(lambda: step(model), "step_a", parameters)


@pytest.mark.parametrize("name", STEPS)
def test_the_same_step_with_smaller_rounding_errors(name):
    model, step = STEPS[name]
    parameters = dict(model.named_parameters())
    kept.zero_()
    plain = gradients(model, step, parameters)
    kept.zero_()
    with in_precision(model, torch.float64) as copies:
        exact = gradients(model, step, {n: copies[id(p)] for n, p in parameters.items()})
    assert kept.eq(0).all()  # the copy is written into
    assert exact.loss.dtype is torch.float64
    tolerance = 0.05 if name in ("autocast", "bfloat16") else 1e-5
    for each, gradient in plain.gradients.items():
        expected = exact.gradients[each]
        assert expected.dtype is torch.float64
        assert (gradient.double() - expected).norm() <= tolerance * expected.norm()
        assert not torch.equal(gradient.double(), expected)


def test_everything_is_as_before():
    model = nn.BatchNorm1d(8)
    tensors = [*model.parameters(), model.running_mean, model.running_var]
    numbers = [tensor.clone() for tensor in tensors]
    with pytest.raises(ZeroDivisionError), in_precision(model, torch.float64):
        assert model.weight.dtype is torch.float64 is torch.get_default_dtype()
        model(X)
        raise ZeroDivisionError
    after = [*model.parameters(), model.running_mean, model.running_var]
    assert [*map(id, tensors)] == [*map(id, after)]
    assert all(map(torch.equal, after, numbers))
    assert torch.get_default_dtype() is torch.float32 and torch.ones(1).dtype is torch.float32
