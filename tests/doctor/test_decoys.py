"""The guilty line is named where innocent ones of its kind stand before and after it.

# guilty marks the line to edit, # also each of the other places that a finding has.
"""

import re
from contextlib import suppress
from inspect import getsource

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import once_differentiable
from training import leaf

from autograd_surprises.doctor import trace
from cases.case import Visit
from cases.claims import seed

STEPS = []


def blames(name, rule, *also):
    """A step whose finding of this name has this rule, and says this besides."""
    return lambda step: STEPS.append((step, name, rule, also)) or step


class Innocent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 1


class Once(Innocent):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output * 1


@blames("x", "underflow/float16")
def two_blocks_in_half():
    x = leaf(1.0, 2.0)
    first = (x.half() * 0.5).float()
    second = (first.half() * 0.5).float()  # guilty
    return Visit((second * 1e-9).sum(), {"x": x})


@blames("x", "hook/zero")
def hooks_of_another_tensor():
    x, other = leaf(1.0, 2.0), leaf(1.0, 2.0)
    other.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g * 0)  # guilty
    other.register_hook(lambda g: g * 3)
    y = x * 2
    y.register_hook(lambda g: g * 4)
    return Visit((y * other).sum(), {"x": x})


@blames("x", "hook/zero")
def hooks_of_results():
    x, other = leaf(1.0, 2.0), leaf(1.0, 2.0)
    other.register_hook(lambda g: g * 2)
    y, z = x * 2, other * 2
    z.register_hook(lambda g: g * 3)
    y.register_hook(lambda g: g * 0)  # guilty
    return Visit((y * z).sum(), {"x": x})


@blames("RuntimeError", "overwritten")
def writes_before_and_of_other_tensors():
    x, other = leaf(1.0, 2.0), torch.ones(2)
    with torch.no_grad():
        x.add_(1)
    y, z = torch.sigmoid(x), torch.sigmoid(other)  # also
    z += 1
    y += 1  # guilty
    other.add_(1)
    y.sum().backward()


@blames("RuntimeError", "once-differentiable")
def a_function_that_may_be_differentiated_twice():
    x = leaf(1.0, 2.0)
    innocent = Innocent.apply(x).sum()
    y = Once.apply(x).square().sum()  # guilty
    (slope,) = torch.autograd.grad(y + innocent, x, create_graph=True)
    slope.sum().backward()


@blames("RuntimeError", "view-in-place")
def a_function_beside_views():
    x = leaf(1.0, 2.0)
    Innocent.apply(x)
    first, _ = x.view(2, 1).unbind(0)
    first += 1


@blames("x", "dead-relu",
        "on another path: 2 of 2 inputs lie outside [5, 6]; clamp is flat there, so its gradient "
        "is exactly 0, at test_decoys.py: clamped = x.clamp(5, 6)",
        "on another path: round is a staircase: its gradient is 0 everywhere, "
        "at test_decoys.py: rounded = x.round()")  # fmt: skip
def three_paths():
    x = leaf(0.2, 1.7)
    rounded = x.round()
    clamped = x.clamp(5, 6)
    dead = (x - 9).relu()  # guilty
    return Visit(rounded.sum() + clamped.sum() + dead.sum(), {"x": x})


@blames("x", "detach/call")
def a_detached_copy_for_the_log():
    x, rest = leaf(1.0, 2.0), leaf(0.0)
    x.detach().norm()

    def constant():
        return x.detach()  # guilty

    with torch.no_grad():
        hidden = constant()
    hidden.detach().norm()
    return Visit((hidden + rest).sum(), {"x": x})


@blames("x", "data")
def cuts_on_two_paths():
    x, rest, one = leaf(1.0, 2.0), leaf(0.0), torch.zeros(2)
    one.data = x * 2  # guilty
    other = (x * 3).detach()  # also
    third = x.data  # also
    return Visit((one + other + third + rest).sum(), {"x": x})


@blames("loss", "double-softmax/cross-entropy")
def a_right_cross_entropy():
    a, b, label = torch.randn(4, 3).requires_grad_(), leaf([1.0, 2.0]), torch.tensor([0, 1, 2, 0])
    right = F.nll_loss(b.softmax(1).log(), label[:1])
    p = a.softmax(1)  # guilty
    wrong = F.cross_entropy(p, label)  # also
    return Visit(right + F.cross_entropy(b, label[:1]) + wrong, {"a": a})


@blames("loss", "double-softmax/cross-entropy")
def probabilities_that_something_else_needs():
    a, label = torch.randn(4, 3).requires_grad_(), torch.tensor([0, 1, 2, 0])
    p = a.softmax(1)  # also
    wrong = F.cross_entropy(p, label)  # guilty
    return Visit(wrong + p.square().mean(), {"a": a})


@blames("w", "accumulated/held")
def an_earlier_backward():
    w = leaf(1.0, 2.0)
    w.square().sum().backward()
    w.square().sum().backward()  # guilty
    return Visit(w.square().sum(), {"w": w})


@blames("0.weight", "not-in-optimizer/parameter")
def optimizers_of_another_model():
    model, other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), nn.Linear(2, 1)  # also
    before = torch.optim.SGD(other.parameters(), lr=0.1)
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)  # guilty
    after = torch.optim.SGD(other.parameters(), lr=0.1)
    loss = model(torch.ones(1, 2)).sum()
    assert before and after
    return Visit(loss, model, model=model, optimizer=optimizer)


@blames("w", "frozen/flag")
def other_layers_frozen():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1))
    model[0].requires_grad_(False)
    model[1].weight.requires_grad_(False)  # guilty
    model[2].bias.requires_grad_(False)
    return Visit(model(torch.ones(1, 2)).sum(), {"w": model[1].weight})


@blames("loss", "broadcast")
def losses_of_equal_shapes():
    model, target = nn.Linear(2, 1), torch.arange(4.0)
    y = model(torch.rand(4, 2))
    before = (y.squeeze(1) - target).square().mean()
    wrong = (y - target).square().mean()  # guilty
    after = (y.squeeze(1) - target).square().mean()
    return Visit(before + wrong + after, model)


@blames("y", "overflow/forward")
def powers_that_do_not_overflow():
    x, y = leaf(1.0, 2.0), leaf(100.0, 1.0)
    before = x.exp()
    power = y.exp()  # guilty
    return Visit((before * x.exp()).sum() + (power / (1 + power)).sum(), {"x": x, "y": y})


@blames("loss", "overflow/forward")
def a_later_power_that_overflows_too():
    x = leaf(100.0, 1.0)
    first = x.exp()  # guilty
    return Visit((first / (1 + first) + (2 * x).exp()).sum(), {"x": x})


@blames("x", "masked-too-late/proven")
def a_root_that_is_nowhere_0():
    x, other = leaf(0.0, 4.0), leaf(1.0, 4.0)
    right = torch.where(other > 0, other.sqrt(), 0.0)
    root = x.sqrt()  # guilty
    return Visit((right + torch.where(x > 0, root, 0.0) + other.sqrt()).sum(), {"x": x})


@blames("x", "zero-factor/tensor")
def factors_that_are_not_0():
    x, zeros, ones = leaf(1.0, 2.0), torch.zeros(2), torch.ones(2)
    y = x * ones
    y = y * zeros  # guilty
    y = y * ones
    return Visit(y.sum(), {"x": x})


@blames("w", "no-create-graph")
def a_slope_with_its_graph():
    w, x, rest = leaf(1.0), leaf(2.0), leaf(1.0)
    torch.autograd.grad((w * x**2).sum(), x, create_graph=True)
    (slope,) = torch.autograd.grad((w * x**3).sum(), x)  # guilty
    return Visit((slope * rest).sum(), {"w": w})


@blames("s", "forward-nonfinite/single-element")
def a_std_of_two():
    s, two, one = leaf(1.0), torch.tensor([0.7, 0.2]), torch.tensor([0.7])
    right = two / two.std()
    wrong = one / one.std()  # guilty
    return Visit((s * right).sum() + (s * wrong).sum() + two.std(), {"s": s})


@blames("loss", "nonfinite-data")
def data_that_a_later_line_fills():
    x, data, clean = leaf(1.0, 2.0), torch.ones(2), torch.zeros(2)
    clean[0] = 3
    data[0] = torch.nan  # guilty
    loss = (x * clean + data).sum()  # also
    return Visit(loss, {"x": x, "data": data})


@blames("b", "unused/never")
@blames("d", "unused/never")
def steps_that_update_two_in_one_call():
    a, b, c, d = (leaf(1.0) for _ in range(4))
    (a * b + c * d).sum().backward()
    torch.optim.SGD([a, b], lr=0.1, foreach=True).step()
    torch.optim.SGD([c, d], lr=0.1, fused=True).step()
    return Visit((a.detach() + c.detach() + leaf(1.0)).sum(), {"b": b, "d": d})


def marks(lines):
    ends = [line.partition("  # ")[2].strip() for line in lines]
    return sorted(end for end in ends if end in ("guilty", "also"))


@pytest.mark.filterwarnings("ignore:std:UserWarning")
@pytest.mark.parametrize("step, name, rule, also", STEPS, ids=[s[0].__name__ for s in STEPS])
def test_the_guilty_line_is_named_and_no_innocent_one(step, name, rule, also):
    seed()
    with suppress(RuntimeError), trace() as t:
        visit = step()
    asked = {} if t.error else {**vars(visit)}
    found = t.error or t.explain(asked.pop("loss"), asked.pop("wrt"), **asked)[name]
    assert (found.name, found.rule) == (name, rule)
    places = [where.source for label, where in found.places if label != "raised at"]
    assert marks(places) == marks(getsource(step).splitlines()) and len(marks(places)) == len(
        places
    )
    assert not places or places[0].endswith("# guilty")
    assert not also or [re.sub(r":\d+", "", text) for text in found.also] == [*also]
