"""One backward through a small graph: are the numbers and the reasons those of torch?"""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from autograd_surprises.backward.local_derivatives import elementwise, times
from autograd_surprises.facts.toml_data import tomllib
from helpers.explore.drawings.backward_steps import BackwardSteps
from helpers.explore.drawings.backward_words import arrives, explanation, passed_on, seen
from helpers.functions import round_ste


def leaf(*values):
    return torch.tensor(values if len(values) > 1 else values[0], requires_grad=True)


def titled(steps):
    return {stop.name or stop.made_by: stop for stop in steps.stops}


def way_between(steps, upper, lower):
    names = list(titled(steps))
    (way,) = (w for w in steps.ways if (names[w.upper], names[w.lower]) == (upper, lower))
    return way


UNARY = torch.sin, torch.exp, torch.tanh, torch.relu, round_ste, torch.round, lambda x: 3 * x
BINARY = torch.mul, torch.add, torch.sub, torch.maximum


@st.composite
def programs(draw):
    """A loss of two vectors: operations with the numbers of the tensors that they use."""
    calls = []
    for count in range(2, 2 + draw(st.integers(1, 6))):
        kind = draw(st.sampled_from((UNARY, BINARY)))
        used = [draw(st.integers(0, count - 1)) for _ in range(1 + (kind is BINARY))]
        calls.append((draw(st.sampled_from(kind)), used))
    return calls


@settings(max_examples=40, deadline=None)
@given(programs(), st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_each_number_is_that_of_torch(calls, values):
    a, b = torch.tensor(values, dtype=torch.float64).reshape(2, 2).requires_grad_().unbind()
    a, b = (each.detach().requires_grad_() for each in (a, b))
    made = []

    def loss():
        made[:] = [a, b]
        for function, used in calls:
            made.append(function(*(made[k] for k in used)))
        return (made[-1] * made[0]).sum()

    steps = BackwardSteps(loss, {"a": a, "b": b})
    assert (a.grad, b.grad) == (None, None)
    loss().backward()
    assert steps.order[0] is steps.stops[0]
    for tensor, name in ((a, "a"), (b, "b")):
        stop = titled(steps)[name]
        if tensor.grad is None:
            assert stop.turn is None
            continue
        assert torch.equal(stop.upstream, tensor.grad)
        assert torch.allclose(sum(stop.parts), tensor.grad)
        above = [steps.stops[w.upper] for w in steps.ways if steps.stops[w.lower] is stop]
        assert stop.turn > max(each.turn for each in above)
    for way in steps.ways:
        upstream = steps.stops[way.upper].upstream
        product = times(upstream.flatten(), way.jacobian)
        assert torch.allclose(product, way.gradient.flatten(), equal_nan=True)
        assert any(torch.equal(way.value, each.detach()) for each in [*made, made[-1] * made[0]])


def test_numbers_inside_composite_functions_are_known():
    x, layer = torch.tensor([[1.0, 2.0]]), torch.nn.Linear(2, 2)
    target = torch.tensor([1])
    named = dict(layer.named_parameters())
    steps = BackwardSteps(lambda: F.cross_entropy(layer(x), target), named)
    logits = layer(x)
    found = way_between(steps, "LogSoftmaxBackward0", "AddmmBackward0").value
    assert torch.equal(found, logits.detach())
    found = way_between(steps, "NllLossBackward0", "LogSoftmaxBackward0").value
    assert torch.equal(found, logits.log_softmax(1).detach())
    assert torch.equal(way_between(steps, "AddmmBackward0", "TBackward0").value, layer.weight.T)


class Twice(torch.autograd.Function):
    """Its value has passed through two operations, its backward takes a number, too."""

    @staticmethod
    def forward(x, factor):
        return (x + 1).round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.factor(grad_output), None


def through(factor, weight=4):
    """With weight 4, the upstream gradient is 16; with 0.25 it is 1."""
    x = leaf(1.3)
    steps = BackwardSteps(lambda: weight * Twice.apply(x, factor) ** 2, {"x": x})
    return steps, way_between(steps, "TwiceBackward", "x")


@pytest.mark.parametrize("factor", [lambda g: 5 * g, lambda g: g.mul_(5)])
def test_a_function_of_the_reader_has_the_derivative_that_it_returns(factor):
    steps, way = through(factor)
    assert passed_on(way, torch.tensor(16.0)) == "× 5 = 80"
    assert titled(steps)["TwiceBackward"].upstream == 16.0
    assert way_between(steps, "PowBackward0", "TwiceBackward").value == 2.0


@pytest.mark.parametrize(
    ("returns", "says"),
    [
        (lambda g: torch.full_like(g, 7.0), "This is no multiple of what arrives"),
        (lambda g: g**2, "This is no multiple of what arrives"),
        (lambda g: g + 1, "This is no multiple of what arrives"),
        (lambda g: None, "Backward returns no gradient"),
        (lambda g: 0 * g, "The local derivative is 0"),
    ],
)
@pytest.mark.parametrize("weight", [4, 0.25])
def test_what_is_no_derivative_is_not_called_one(returns, says, weight):
    steps, way = through(returns, weight)
    assert (way.jacobian is None) == ("derivative" not in says)
    turn = titled(steps)["TwiceBackward"].turn
    assert says in explanation(steps, turn + 1)


def test_what_a_node_sends_by_chance_or_through_a_hook_is_not_blamed_on_its_derivative():
    steps, way = through(lambda g: g * torch.rand(()))
    assert way.why_none == "changes"
    w = leaf(2.0)

    def loss():
        y = w**2
        y.grad_fn.register_hook(lambda sent, arrived: (10 * sent[0],))
        return y

    steps = BackwardSteps(loss, {"w": w})
    assert titled(steps)["w"].upstream == 40.0
    assert "maybe a hook" in explanation(steps, 1)


class Both(torch.autograd.Function):
    """Has two results, and returns a None too many, as torch allows."""

    @staticmethod
    def forward(ctx, x):
        return 3 * x, 5 * x

    @staticmethod
    def backward(ctx, of_first, of_second):
        return 3 * of_first + 5 * of_second, None


def test_gradients_change_their_dtype_on_the_way():
    w, c = leaf(0.1), torch.tensor([0.1, 0.2], dtype=torch.float64)
    steps = BackwardSteps(lambda: (w * c).sum() + w.bfloat16() * 2, {"w": w})
    assert "by a hook" not in arrives(titled(steps)["w"])
    assert titled(steps)["w"].upstream.item() == pytest.approx(2.3)
    assert all(way.jacobian is not None for way in steps.ways if way.gradient is not None)


X, V = leaf(2.0), leaf(2.0, 3.0)
DATA, UNUSED = torch.tensor(5.0), leaf(1.0)


def several():
    first, second = V
    return first * second + first


def in_place():
    y = 2 * X
    z = y + 0
    y.mul_(10)
    return y + z


def hooked():
    y = 3 * X
    y.register_hook(lambda gradient: 10 * gradient)
    return y**2


def behind_a_cut():
    inner = X * DATA
    return inner.detach() * UNUSED


MATRIX = torch.tensor([[0.0, 5.0], [1.0, 2.0]])
PROGRAMS = {  # a loss, and the tensors that have a name
    "several results, which are not added up": (several, {"x": V}),
    "a change in place: the number before it": (in_place, {"x": X}),
    "gradients": (lambda: torch.autograd.grad(X**3, X, create_graph=True)[0], {"x": X}),
    "a result that is not used": (lambda: 7 * Both.apply(X)[0], {"x": X}),
    "a hook of the reader": (hooked, {"x": X}),
    "data and what is not used": (lambda: X * DATA, {"x": X, "data": DATA, "other": UNUSED}),
    "data behind a cut": (behind_a_cut, {"x": X, "data": DATA, "other": UNUSED}),
    "products of numbers": (lambda: (V * V).sum(), {"x": V}),
    "a sum of products": (lambda: (V.sum() * torch.ones(2)).sum(), {"x": V}),
    "a matrix": (lambda: (MATRIX @ V).sum(), {"x": V}),
    "infinity, which hides a derivative": (lambda: (1 / (1 - MATRIX) @ V).sum(), {"x": V}),
}
SAID = tomllib.loads(Path(__file__).with_name("backward_steps.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_seen_at_the_end(name):
    steps = BackwardSteps(*PROGRAMS[name])
    assert seen(steps, 99) == SAID[name]
    assert ("hides the local derivative" in explanation(steps, 2)) == ("hides" in name)


# Why no gradient: (function of w and b, what is cut, why).
CUTS = {
    "detach": (lambda w, b: (w * 2).detach() * b, "detach()", "no history"),
    "data": (lambda w, b: (w * 2).data * b, "data()", ".data"),
    "no_grad": (torch.no_grad()(lambda w, b: w * 2), "mul()", "recording was off"),
    "integer": (lambda w, b: (w * 2).long() * b, "long()", "became an integer"),
    "boolean": (lambda w, b: (w * 2 > 1) * b, "gt()", "only true or false"),
    "copy": (lambda w, b: torch.tensor([w * 2]) * b, "tensor()", "copied"),
    "number": (lambda w, b: (w * 2).item() * b, "item()", "left torch"),
    "condition": (lambda w, b: 5 * b if w * 2 else b, "bool()", "only decides"),
    "later": (lambda w, b: ((w * 2).detach().exp() + 1) * b, "detach()", "no history"),
}


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("name", CUTS)
def test_what_is_cut_off_hangs_below_the_reason(name):
    compute, call, why = CUTS[name]
    w, b = leaf(2.0), leaf(3.0)
    steps = BackwardSteps(lambda: compute(w, b) * b, {"w": w, "b": b})
    cut, said = titled(steps)[call], seen(steps, 99)
    assert (cut.kind, cut.why, cut.turn) == ("cut", why, None)
    assert f"{call} → " in said and said.endswith("; w.grad = None")
    assert titled(steps)["b"].upstream is not None
    used = f" → {call}" in said
    assert used == (name not in ("number", "condition"))  # nobody knows where Python takes it


def test_what_backward_would_change_stays_as_it_is_and_names_inside_the_function_are_found():
    x = leaf(2.0)
    x.grad = torch.tensor(10.0)
    kept = 3 * x
    kept.retain_grad()

    def loss():
        z = kept * kept
        return z + 0

    steps = BackwardSteps(loss, {"x": x, "kept": kept})
    assert list(titled(steps)) == ["loss", "z", "kept", "x"]
    assert not titled(steps)["z"].keeps
    assert (x.grad, kept.grad) == (10.0, None)
    assert seen(steps, 0).endswith("kept.grad = None; x.grad = 10")
    assert seen(steps, 4).endswith("kept.grad = 6 + 6 = 12; x.grad = 10 + 36 = 46")
    parts = [len(stop.parts) for stop in steps.stops]
    steps.loss.backward()
    assert [len(stop.parts) for stop in steps.stops] == parts, "its hooks are still in the graph"


def test_elementwise_is_the_diagonal_and_nothing_else():
    inf, nan = torch.inf, torch.nan
    assert elementwise(torch.tensor([[1.0, 1.0], [0.0, 1.0]])) is None
    assert elementwise(torch.tensor([[1.0, nan], [0.0, 1.0]])) is None
    assert elementwise(torch.ones(1, 2)) is None
    assert elementwise(torch.tensor([[inf, 0.0], [nan, 1.0]])).tolist() == [inf, 1.0]


@pytest.mark.parametrize(
    ("loss", "error", "says"),
    [
        (lambda: 3.0, TypeError, "has to return a tensor, got float"),
        (lambda: torch.ones(1), ValueError, "without a history"),
        (lambda: leaf(1.0), ValueError, "without a history"),
        (lambda: (3 * torch.ones(10, requires_grad=True)).sum(), ValueError, "has 10 numbers"),
        (lambda: torch.complex(leaf(1.0), leaf(2.0)).abs(), ValueError, "is complex"),
        (lambda: sum(leaf(1.0) * k for k in range(9)), ValueError, "has 2[0-9] boxes"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_number(loss, error, says):
    with pytest.raises(error, match=says):
        BackwardSteps(loss, {})
