"""compare(): the same, only rounding, or another gradient, with its operation and its reason."""

import random

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_surprises import compare

X, Y = torch.randn(64, 8, generator=torch.Generator().manual_seed(1)), torch.zeros(64, 4)
WHOLE = torch.arange(-64.0, 64.0).view(16, 8) % 3 - 1  # -1, 0 and 1
TOKENS = torch.arange(16).view(4, 4) % 10
WEIGHTS = torch.linspace(1, 2, 16 * 4).view(16, 4)


class RoundSTE(torch.autograd.Function):
    """Rounds; its gradient is that of the identity."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def network(*more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), *more, nn.Linear(16, 4))


def whole_layer():
    """A layer whose results are whole numbers, and so lie on kinks."""
    layer = nn.Linear(8, 4)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(4, 8))
        layer.bias.zero_()
    return layer


def error(model, x=None, y=None):
    return F.mse_loss(model(X if x is None else x), Y if y is None else y)


def rounded(model, middle):
    first, tanh, last = model
    return F.mse_loss(last(middle(tanh(first(X)))), Y)


def said(found):
    return dict(found.rows)


# The same.


def noisy(model):
    noise = torch.randn(64, 8) + torch.rand_like(X) + X.new_empty(64, 8).normal_()
    noise = noise + torch.zeros(8).uniform_() + torch.bernoulli(torch.full((8,), 0.3))
    return model(X + noise + torch.randperm(8)).square().mean()


def in_place(model):
    kept = torch.zeros(64, 8)
    kept.copy_(X)
    first = kept[0]
    first += 1
    return model(kept * 2).square().mean()


def attention(model):
    heads = F.dropout(model(X), 0.4)[None]
    return F.scaled_dot_product_attention(heads, heads, heads).square().mean()


STEPS = {
    "noise": (nn.Linear(8, 4), noisy),
    "in place": (nn.Linear(8, 4), in_place),
    "attention": (nn.Linear(8, 4), attention),
    "convolution": (nn.Conv2d(1, 2, 3), lambda model: model(X[None, None]).square().mean()),
    "embedding": (nn.EmbeddingBag(10, 4), lambda model: model(TOKENS).square().mean()),
    "lstm": (nn.LSTM(8, 4, num_layers=2, dropout=0.3), lambda model: model(X)[0].square().mean()),
}


@pytest.mark.parametrize("name", STEPS)
def test_the_step_in_float64_is_the_same_with_smaller_rounding_errors(name):
    model, step = STEPS[name]
    found = compare(lambda: step(model), lambda: step(model), model)
    assert found.same and "bit for bit" in found.sentence
    assert all(each.exact == 0 and 0 < each.floor < 1e-5 * each.size for each in found.parameters)
    assert model.state_dict()[found.parameters[0].name].dtype is torch.float32


def flipped(model):
    return error(model, X.flip(0), Y.flip(0))


def one_by_one(model):
    return sum(error(model, x, y) for x, y in zip(X.split(1), Y.split(1), strict=True)) / 64


def split_product(model):
    w, b = model[0].weight, model[0].bias
    hidden = X[:, :3] @ w[:, :3].T + X[:, 3:] @ w[:, 3:].T + b
    return F.mse_loss(model[2](model[1](hidden)), Y)


@pytest.mark.parametrize("other", [flipped, one_by_one, split_product])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_only_another_order(other, dtype, monkeypatch):
    monkeypatch.setitem(globals(), "X", X.to(dtype))
    monkeypatch.setitem(globals(), "Y", Y.to(dtype))
    model = network().to(dtype)
    found = compare(lambda: error(model), lambda: other(model), model)
    assert found.same and "rounding" in found.sentence
    assert any(each.apart for each in found.parameters) and not found.rows


def test_a_formula_that_loses_its_digits_is_not_called_the_same():
    model = network()

    def growth(by_hand):
        y = model(X) * 1e-5
        return (1e5 * (y.exp() - 1 if by_hand else y.expm1())).square().sum()

    found = compare(lambda: growth(False), lambda: growth(True), model)
    assert (found.status, found.cause) == ("differ", "rounding")
    assert found.first.only_rounded


def test_a_checkpoint_computes_the_same():
    model, x = network(nn.Dropout()), X.clone().requires_grad_()
    found = compare(
        lambda: error(model, x),
        lambda: F.mse_loss(checkpoint(model, x, use_reentrant=False), Y),
        model,
    )
    assert found.same and x.grad is None


# Another gradient.


@pytest.mark.parametrize("other", [lambda h: h.round(), lambda h: RoundSTE.apply(h).detach()])
def test_a_custom_backward_is_dropped(other):
    model = network()
    found = compare(lambda: rounded(model, RoundSTE.apply), lambda: rounded(model, other), model)
    assert found.status == "differ" and found.first.name in ("0.weight", "0.bias")
    assert found.cause == "operations" and "RoundSTE" in said(found)["cause"]
    assert "middle(" in said(found)["in a"]
    assert {each.name for each in found.parameters if each.differs} == {"0.weight", "0.bias"}


def by_hand(x, low, high):
    return torch.where(x <= low, low, torch.where(x >= high, high, x))


KINKS = {
    "clamp": (lambda x: x.clamp(-0.5, 1), lambda x: by_hand(x, -0.5, 1.0)),
    "relu": (F.relu, lambda x: x.clamp(min=0)),
    "maximum": (F.relu, lambda x: torch.maximum(x, torch.zeros(()))),
    "abs": (torch.abs, lambda x: torch.where(x >= 0, x, -x)),
    "tie": (lambda x: x.max(1, keepdim=True)[0], lambda x: x.amax(1, keepdim=True)),
}


@pytest.mark.parametrize("name", KINKS)
def test_another_convention_at_a_kink(name):
    layer = whole_layer()
    a, b = (lambda f=f: (f(layer(WHOLE)) * WEIGHTS).sum() for f in KINKS[name])
    gradients = [torch.autograd.grad(step(), layer.bias)[0] for step in (a, b)]
    same = torch.equal(*gradients)  # clamp at its bound depends on the version of torch
    found = compare(a, b, layer)
    assert (found.status, found.cause) == (("same", "") if same else ("differ", "kink"))
    assert same or "test_two_steps.py" in said(found)["in b"]


def test_beside_the_kink_or_without_a_tie_it_is_another_gradient():
    layer = whole_layer()
    a, b = (lambda f=f: f(layer(WHOLE)).sum() for f in (lambda x: x.clamp(-1, 1), lambda x: x * 2))
    assert compare(a, b, layer).cause == "operations"
    layer = nn.Linear(8, 4)
    rows, places = torch.arange(64), layer(X).argmax(1)
    twice = compare(
        lambda: layer(X).amax(1).sum(), lambda: (2 * layer(X)[rows, places]).sum(), layer
    )
    assert twice.cause == "operations"  # it differs at the largest numbers alone


@pytest.mark.parametrize("factor, cause", [(1, "rounding"), (1.1, "operations")])
def test_autocast_is_rounding_unless_it_hides_a_mistake(factor, cause):
    model = network()

    def half():
        with torch.autocast("cpu", torch.bfloat16):
            result = F.mse_loss(model(X).float(), Y)
            return result if factor == 1 else factor * result

    found = compare(lambda: error(model), half, model)
    assert (found.status, found.cause) == ("differ", cause)
    assert all(each.only_rounded == (factor == 1) for each in found.parameters)


def test_a_mistake_smaller_than_the_rounding_errors_shows_in_float64():
    model = network()

    def half(factor):
        with torch.autocast("cpu", torch.bfloat16):
            return factor * F.mse_loss(model(X).float(), Y)

    found = compare(lambda: half(1), lambda: half(1.005), model)
    assert found.status == "differ" and found.first.apart < 8 * found.first.floor
    assert "factor *" in said(found)["in b"]


def test_a_mean_over_another_dimension():
    model = network()

    def right():
        squares = model(X).square()
        rows = squares.mean(dim=1)
        return rows.sum()

    def wrong():
        squares = model(X).square()
        rows = squares.mean(dim=0)
        return rows.sum()

    found = compare(right, wrong, model)
    assert found.first.name == "2.bias"
    text = said(found)
    assert "rows = squares.mean(dim=1)" in text["in a"] and "mean(dim=0)" in text["in b"]
    assert text["first value, in b"].startswith("mean: ")


def test_a_hook_in_both():
    model = network()
    model[0].weight.register_hook(lambda gradient: 3 * gradient)  # in both, also in float64
    assert compare(lambda: error(model), lambda: flipped(model), model).same


def test_nan_in_both_is_no_difference():
    model = network()
    spoiled = X.clone()
    spoiled[0] = torch.nan
    assert compare(lambda: error(model, spoiled), lambda: error(model, spoiled), model).same
    assert compare(lambda: error(model), lambda: error(model, spoiled), model).status == "differ"


# What it leaves.


def state(model):
    tensors = {**model.state_dict(), **{f"{n}.grad": p.grad for n, p in model.named_parameters()}}
    kept = {name: tensor.clone() for name, tensor in tensors.items()}
    return kept, torch.get_rng_state(), random.getstate(), model.training


def test_everything_is_put_back():
    model = network(nn.BatchNorm1d(16), nn.Dropout())
    error(model).backward()
    grads = [p.grad for p in model.parameters()]
    parameters, buffers = [*model.parameters()], [*model.buffers()]
    before = state(model)

    def careless():
        model.calls = getattr(model, "calls", 0) + 1
        random.random()
        model[0].weight.data.mul_(1.5)
        model.zero_grad()
        model.eval()
        return error(model)

    seen = []

    def again():
        seen.append(torch.equal(model[0].weight.double(), before[0]["0.weight"].double()))
        return error(model)

    compare(careless, again, model)
    after = state(model)
    assert all(seen[:3]) and len(seen) > 3  # later, parameters are moved away from kinks
    assert before[0].keys() == after[0].keys()
    assert all(torch.equal(before[0][name], after[0][name]) for name in before[0])
    assert torch.equal(before[1], after[1]) and before[2:] == after[2:]
    assert all(p.grad is grad for p, grad in zip(model.parameters(), grads, strict=True))
    assert not hasattr(model, "calls") and all(p._backward_hooks is None for p in parameters)
    assert all(x is y for x, y in zip(model.parameters(), parameters, strict=True))
    assert all(x is y for x, y in zip(model.buffers(), buffers, strict=True))
    assert torch.get_default_dtype() is torch.float32


# What cannot be compared.


@pytest.mark.parametrize(
    "step, kind, part",
    [
        (lambda model: None, TypeError, "None"),
        (lambda model: 0.5, TypeError, "float"),
        (lambda model: model(X), ValueError, "(64, 4)"),
        (lambda model: error(model).detach(), ValueError, "no grad_fn"),
        (lambda model: error(network()), ValueError, "reaches no parameter"),
    ],
)
def test_a_step_that_cannot_be_compared(step, kind, part):
    model = network()
    with pytest.raises(kind, match="step_b") as caught:
        compare(lambda: error(model), lambda: step(model), model)
    assert part in str(caught.value)


def test_arguments_that_cannot_be_compared():
    model = network()
    with pytest.raises(TypeError, match="step_a has to be a function.*lambda"):
        compare(error(model), error(model), model)
    with pytest.raises(TypeError, match=r"nn\.Module"):
        compare(lambda: error(model), lambda: error(model), "model")
    with pytest.raises(ValueError, match="no parameter"):
        compare(lambda: X.sum(), lambda: X.sum(), nn.ReLU())


def test_a_step_that_keeps_something_never_gets_float64():
    model, seen = network(), [torch.zeros(64, 4)]

    def recurrent():
        seen.append(model(X + seen[-1].mean()).detach() + len(seen))
        return F.mse_loss(model(X + seen[-1].mean()), Y)

    found = compare(recurrent, recurrent, model)
    assert found.status == "undecided" and {t.dtype for t in seen} == {torch.float32}


def test_without_float64_nothing_is_called_rounding():
    model = network()

    def only_float32():
        result = error(model)
        if model[0].weight.dtype is torch.float64:
            raise RuntimeError("not implemented for 'Double'")
        return result

    found = compare(only_float32, lambda: error(model) * 1.01, model)
    assert found.status == "undecided" and "Double" in found.sentence
    assert compare(only_float32, only_float32, model).same


def test_rounding_errors_that_hide_everything_are_no_answer():
    layer = nn.Linear(8, 4)

    def step(x):
        y = layer(x)
        return ((y - y.mean(0)) * (1 + x[:, :4])).sum()

    layer.weight.requires_grad_(False)  # the gradient of the bias is 0 but for rounding errors
    found = compare(lambda: step(X), lambda: step(X.flip(0)), layer)
    assert found.status == "undecided" and "rounding errors hide" in found.sentence
