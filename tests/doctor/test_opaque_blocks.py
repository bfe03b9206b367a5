"""Compiled blocks and checkpoints: what the doctor can know of them, and when it keeps away."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_surprises.doctor import explain, trace


class Rounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.2, 1.7]))

    def forward(self, x):
        return (self.weight * x).round()


def test_a_compiled_block_is_read_by_a_trace():
    model = Rounded()
    fast = torch.compile(model, backend="aot_eager")
    with trace() as t:
        loss = fast(torch.ones(2)).sum()
    found = t.explain(loss, model)["weight"]
    assert (found.cause, found.where.source) == (
        "staircase", "return (self.weight * x).round()"
    )  # fmt: skip


@pytest.mark.slow
def test_a_block_compiled_for_one_backward_is_left_alone_and_no_error_is_reported():
    model, x = Rounded(), torch.ones(2)
    fast = torch.compile(lambda v: model(v).sin().exp().sum(), backend="aot_eager")
    fast(x).backward()  # compiles a backward that writes over what was saved
    loss = fast(x)
    report = explain(loss, model)
    (found,) = report.findings
    assert (found.status, found.cause) == ("not examined", "compiled-for-one-backward")
    assert report.healthy and "trace()" in found.fix
    loss.backward()


def reentrant():
    layers, x = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)]), torch.ones(1, 2)
    hidden = checkpoint(layers[1], layers[0](x), use_reentrant=True)
    return layers, layers[2](hidden)


def test_a_reentrant_checkpoint_is_judged_and_no_gradient_is_written():
    layers, scores = reentrant()
    old = layers[1].weight.grad = torch.ones(2, 2)
    report = explain(scores.pow(2).sum(), layers)
    assert report.healthy and {f.status for f in report.findings} <= {"ok", "partial"}
    assert layers[1].weight.grad is old and bool((old == 1).all())
    assert [p.grad for p in layers.parameters() if p is not layers[1].weight] == [None] * 5


def test_inside_a_reentrant_checkpoint_the_cause_is_not_guessed():
    layers, scores = reentrant()
    found = explain((scores * 0).sum(), layers)
    assert (found["1.weight"].status, found["1.weight"].cause) == ("zero", "reentrant-checkpoint")
    assert found["0.weight"].cause != "reentrant-checkpoint"


def test_where_backward_would_do_more_than_write_a_gradient_it_is_not_called():
    layers, scores = reentrant()
    layers[0].weight.register_post_accumulate_grad_hook(lambda p: p.data.zero_())
    (found,) = explain(scores.sum(), layers).findings
    assert (found.status, found.cause) == ("error", "reentrant-checkpoint")
    assert layers[0].weight.grad is None and layers[0].weight.any()


def test_a_checkpoint_that_is_not_reentrant_is_looked_into():
    layer, x = nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True)
    loss = checkpoint(lambda v: layer(v).round(), x, use_reentrant=False).sum()
    assert explain(loss, layer)["weight"].cause == "staircase"
