"""explain() keeps no gradient of a parameter, and measures each gradient once."""

import pytest
import torch
from torch import nn

from autograd_surprises.backward import watched_backward as walk
from autograd_surprises.backward.steps import size_of
from autograd_surprises.doctor import explain, trace
from autograd_surprises.recording import stack
from autograd_surprises.symptoms import untrained


def test_the_engine_keeps_one_number_for_each_parameter(monkeypatch):
    real, sizes = walk.gradients, []

    def grad(*args, **kwargs):
        result = real(*args, **kwargs)
        sizes.append(max(gradient.untyped_storage().nbytes() for gradient in result))
        return result

    monkeypatch.setattr(walk, "gradients", grad)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    assert explain(model(torch.randn(4, 8)).square().sum(), model).healthy
    assert sizes == [4]


@pytest.mark.parametrize("hooks", [0, 1])
def test_the_hooks_of_a_leaf_are_as_before_and_see_the_gradient(hooks):
    x, seen = torch.ones(3, requires_grad=True), []
    for _ in range(hooks):
        x.register_hook(seen.append)
    before = x._backward_hooks and dict(x._backward_hooks)
    explain((2 * x).sum(), {"x": x})
    assert x._backward_hooks == before
    assert [g.tolist() for g in seen] == [[2.0, 2.0, 2.0]] * hooks


def test_a_gradient_is_measured_once_on_its_way_from_a_step_to_a_leaf(monkeypatch):
    measured = []
    monkeypatch.setattr(walk, "size_of", lambda g: measured.append(g) or size_of(g))
    x = torch.ones(3, requires_grad=True)
    explain(x.exp(), {"x": x}, grad_outputs=torch.ones(3))
    assert len(measured) == 2  # what enters exp, and what leaves it and arrives at x


@pytest.mark.parametrize("times", [1, 3])
def test_a_gradient_in_grad_is_counted_beyond_a_corner_of_zeros(times):
    x = torch.randn(100, 40, requires_grad=True)
    mask = torch.zeros(100, 40)
    mask[50:] = 1
    x.grad = times * mask
    causes = explain((x * mask).sum(), {"x": x})["x"].cause
    assert (causes == "accumulated") == (times == 3)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "expanded", "sliced", "half"])
def test_an_amount_is_exact_in_parts(layout):
    g = torch.randn(300, 700) * (torch.rand(300, 700) < 0.5)
    if layout == "half":
        g = g.half()
    shapes = {"transposed": g.t(), "expanded": g[:, None].expand(300, 2, 700), "sliced": g[:, ::2]}
    g = shapes.get(layout, g)
    size = size_of(g)
    assert (size.total, size.nonzero) == (g.numel(), int((g != 0).sum()))
    assert size.l1 == pytest.approx(float(g.double().abs().sum()))


def test_numbers_and_texts_do_not_end_the_search_for_tensors():
    w = torch.ones(1)
    held = {"numbers": [0.5] * 4000, "texts": ["a"] * 4000, "nets": [[w]]}
    assert dict(stack.held_tensors(held, "held")) == {"held['nets'][0][0]": w}


def test_a_recording_is_not_searched_for_tensors(monkeypatch):
    searched, search = [], stack.held_tensors
    monkeypatch.setattr(stack, "held_tensors", lambda v, n: searched.append(n) or search(v, n))
    layer = nn.Linear(2, 1)
    with trace() as recording:
        loss = layer(torch.ones(2)).sum()
    recording.explain(loss, layer)
    assert "layer" in searched
    assert "recording" not in searched


def test_leaves_of_another_model_need_no_list_of_all_objects(monkeypatch):
    monkeypatch.setattr(untrained, "living", lambda *kinds: pytest.fail("all objects were listed"))
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    x = torch.ones(2, requires_grad=True)
    sgd = torch.optim.SGD(generator.parameters(), lr=0.1)
    with trace() as recording:
        loss = critic(generator(x)).sum()
    assert recording.explain(loss, generator, optimizer=sgd).healthy
