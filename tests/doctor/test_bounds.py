"""What lies exactly at the bound of a rule, and what lies just past it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from training import leaf

from autograd_surprises.backward.gradient_norms import EXPLODED, USUAL, GradientNorms
from autograd_surprises.backward.noise import _noise
from autograd_surprises.backward.steps import CORNER, arrived_at, size_of
from autograd_surprises.doctor import explain
from autograd_surprises.symptoms import partial, tiny

DOUBLE = torch.float64


def products(*factors):
    """The gradient is the product of these."""
    x = torch.ones(1, dtype=DOUBLE, requires_grad=True)
    y = x
    for factor in factors:
        y = y * factor
    return x, y.sum()


def of(values, function):
    x = torch.tensor(values, requires_grad=True)
    return x, function(x).sum()


AT_A_BOUND = {  # (a leaf and its loss, status and rule)
    "the smallest share that is not tiny": (products(tiny.TINY_SHARE), "ok "),
    "less than that": (products(0.99 * tiny.TINY_SHARE), "tiny small-factor/proven"),
    "no step loses much": (products(*3 * [1.01 * tiny.DROP]), "ok "),
    "one step does": (products(0.01, 0.99 * tiny.DROP), "tiny small-factor/proven"),
    "many steps lose too little": (products(*18 * [0.32]), "ok "),
    "many steps lose much": (products(*19 * [0.32]), "tiny shrinks"),
    "relu at 0": (of([0.0, -1.0], torch.relu), "zero dead-relu"),
    "relu past 0": (of([1e-30, 1e-30], torch.relu), "ok "),
    "the limits of a clamp": (of([0.0, 1.0], lambda x: x.clamp(0, 1)), "ok "),
    "past the limits": (of([-1e-30, 1.0000001], lambda x: x.clamp(0, 1)), "zero outside-range"),
    "the limits of hardtanh": (of([-1.0, 1.0], F.hardtanh), "zero outside-range"),
    "within them": (of([-0.9999999, 0.9999999], F.hardtanh), "ok "),
    "abs at 0": (of([0.0, 0.0], torch.abs), "zero stationary"),
    "abs past 0": (of([1e-30, -1e-30], torch.abs), "ok "),
    "a slope of 0 on the left": (of([-1.0], lambda x: F.leaky_relu(x, 0.0)), "zero dead-relu"),
    "a small slope there": (of([-1.0], lambda x: F.leaky_relu(x, 0.01)), "ok "),
    "a softmax over one": (of([[1.0]], lambda x: x.softmax(1).square()), "zero softmax-of-one"),
    "a softmax over two": (
        of([[0.0, 200.0]], lambda x: x.softmax(1).square()),
        "zero saturated/zero",
    ),
    "one factor of 0": (of([0.0, 2.0], lambda x: x.prod()), "partial "),
    "two factors of 0": (of([0.0, 0.0], lambda x: x.prod()), "zero zero-factor/product"),
}


@pytest.mark.parametrize("step, expected", AT_A_BOUND.values(), ids=AT_A_BOUND)
def test_a_rule_begins_at_its_bound(step, expected):
    x, loss = step
    found = explain(loss, {"x": x})["x"]
    assert f"{found.status} {found.rule}" == expected, found


@pytest.mark.parametrize("scores, causes", [
    ([[0.8, 0.2]], {"nll-of-probabilities"}), ([[1.8, -0.8]], set()),  # logarithms are negative
    ([[0.8, 0.1995]], {"nll-of-probabilities"}), ([[0.8, 0.198]], set()),  # 1 but for rounding
])  # fmt: skip
def test_probabilities_are_not_negative_and_sum_to_1(scores, causes):
    x, loss = of(scores, lambda x: F.nll_loss(x, torch.tensor([0])))
    assert {found.cause for found in explain(loss, {"x": x}).findings if found.alarming} == causes


@pytest.mark.parametrize("rows, cause", [(10, "not-looked-up"), (11, "")])
def test_of_few_zeros_in_a_model_no_cause_is_searched(rows, cause):
    """Of 10 rows, 9 are used, which is just the share."""
    assert partial.FEW == 0.9
    table = nn.Embedding(rows, 2)
    loss = table(torch.arange(rows - 1)).square().sum()
    assert explain(loss, table)["weight"].cause == cause


@pytest.mark.parametrize("times, found", [(1, None), (2, 2), (100, 100), (101, None), (2.5, None)])
@pytest.mark.parametrize("size", [1, CORNER, CORNER + 1])
def test_how_many_times_a_gradient_is_in_grad(times, found, size):
    gradient = torch.rand(size) + 1
    assert arrived_at(gradient, size_of(gradient), times * gradient).times_in_grad == found


@pytest.mark.parametrize("place", [0, CORNER, -1])
def test_one_element_beside_the_corner_decides(place):
    gradient = torch.ones(2 * CORNER)
    old = 3 * gradient
    old[place] = 5
    assert arrived_at(gradient, size_of(gradient), old).times_in_grad is None


@pytest.mark.parametrize("norm, times", [(EXPLODED, 0), (EXPLODED + 1, EXPLODED + 1)])
def test_an_explosion_is_more_than_that(norm, times):
    seen = GradientNorms()
    before = [seen.exploded([1.0]) for _ in range(USUAL)]
    assert [*before, seen.exploded([norm])] == [*[0.0] * USUAL, times]


def test_before_that_many_steps_nothing_has_exploded():
    seen = GradientNorms()
    assert [seen.exploded([norm]) for norm in [1.0] * (USUAL - 1) + [1e9]] == [0.0] * USUAL


@pytest.mark.parametrize("shape", [(300, 100), (200, 128), (64, 1000), (30, 3, 1024)])
def test_no_two_rows_of_noise_are_the_same(shape):
    """In a difference of rows they would cancel."""
    drawn = _noise(torch.Size(shape), torch.float32, "cpu")
    assert drawn.unique(dim=0).shape == drawn.shape


@pytest.mark.parametrize("place", ["first", "last"])
def test_of_many_tensors_the_first_and_the_last_are_examined(place):
    names = [f"w{k}" for k in range(9)]
    weights = {name: leaf(1.5) for name in names}
    guilty = names[0 if place == "first" else -1]
    loss = sum(w.round() if name == guilty else w * 2 for name, w in weights.items()).sum()
    report = explain(loss, weights)
    assert [f.name for f in report.findings if f.alarming] == [guilty]
