"""Rows of the doctor's tables that no patient has: each is reached by a few lines, and is true."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_surprises.doctor import explain, explain_error, trace


def leaf(*values, dtype=None):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


class Rounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([0.2, 1.7]))

    def forward(self, x):
        return (self.weight * x).round()


def compiled():
    model = Rounded()
    fast = torch.compile(model, backend="aot_eager")
    return fast(torch.ones(2)).sum(), model.weight


def detached_afterwards():
    weight, bias = leaf(2.0, 3.0), leaf(1.0, 1.0)
    return (weight.detach() * bias).sum(), weight


def overwritten():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.zero_()
    return (y * 3 + leaf(1.0)).sum(), x


def first_step_of_a_long_sequence():
    torch.manual_seed(0)
    cell, first = nn.RNNCell(4, 4), torch.randn(1, 3, 4, requires_grad=True)
    with torch.no_grad():
        cell.weight_hh.div_(10)
    hidden = torch.zeros(3, 4)
    for part in torch.cat([first, torch.randn(89, 3, 4)]):
        hidden = cell(part, hidden)
    return hidden.sum(), first


def small_factor():
    x = leaf(1.0, 2.0)
    return (x * 1e-8).sum() + leaf(1.0).sum(), x


def nothing_selected():
    x = leaf(1.0, 2.0)
    return F.smooth_l1_loss(x[x > 5], torch.zeros(0)) + leaf(1.0).sum(), x


def all_ignored():
    scores = torch.zeros(2, 3, requires_grad=True)
    targets = torch.full((2,), -100)
    return F.cross_entropy(scores, targets, reduction="sum"), scores


def too_small_for_half():
    x = leaf(1.0, 2.0, dtype=torch.float16)
    return (x.float() * 1e-9).sum(), x


def infinite_constant():
    x = leaf(1.0, 2.0)
    return (x * torch.tensor([float("inf"), 1.0]))[1:].sum(), x


def cut_without_a_trace():
    x = leaf(1.0, 2.0)
    return (x * 2).detach().sum() + leaf(1.0).sum(), x


def other_branch():
    x = leaf(1.0, 2.0)
    return torch.where(x > 5, x * 2, 0.0).sum(), x


def everything_padded_away():
    x = leaf(1.0, 2.0)
    return F.pad(x, (-2, 1)).sum(), x


def not_known():
    x = leaf(0.0, 0.0)
    return torch.special.i0(x).sum(), x


REACHED = [
    (compiled, "zero", "compiled"),
    (detached_afterwards, "none", "detach"),
    (overwritten, "zero", "overwritten-values"),
    (first_step_of_a_long_sequence, "zero", "part-is-zero"),
    (small_factor, "tiny", "small-factor"),
    (nothing_selected, "zero", "empty-selection"),
    (all_ignored, "zero", "empty-selection"),
    (too_small_for_half, "zero", "underflow"),
    (infinite_constant, "nan", "forward-nonfinite"),
    (cut_without_a_trace, "none", "unknown-cut"),
    (other_branch, "zero", "other-branch"),
    (everything_padded_away, "zero", "overwritten-values"),
    (not_known, "zero", "unknown-zero"),
]


@pytest.mark.parametrize("make, status, cause", REACHED, ids=[row[0].__name__ for row in REACHED])
def test_a_reason_is_reached(make, status, cause):
    loss, tensor = make()
    found = explain(loss, {"tensor": tensor})["tensor"]
    assert (found.status, found.cause) == (status, cause), found


def test_a_compiled_block_is_read_by_a_trace():
    model = Rounded()
    fast = torch.compile(model, backend="aot_eager")
    with trace() as t:
        loss = fast(torch.ones(2)).sum()
    found = t.explain(loss, model)["weight"]
    assert (found.cause, found.where.source) == (
        "staircase", "return (self.weight * x).round()"
    )  # fmt: skip


def test_a_reentrant_checkpoint_says_that_it_cannot_be_looked_into():
    layer, x = nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True)
    loss = checkpoint(layer, x, use_reentrant=True).sum()
    (found,) = explain(loss, layer).findings
    assert (found.status, found.cause) == ("error", "reentrant-checkpoint")


def test_a_checkpoint_that_is_not_reentrant_is_looked_into():
    layer, x = nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True)
    loss = checkpoint(lambda v: layer(v).round(), x, use_reentrant=False).sum()
    assert explain(loss, layer)["weight"].cause == "staircase"


@pytest.mark.parametrize("weight, cause", [(0.0, "zero-start"), (torch.inf, "nonfinite-start")])
def test_a_gradient_that_is_bad_from_the_start(weight, cause):
    x = leaf(1.0, 2.0)
    report = explain(x * 2, {"x": x}, grad_outputs=torch.full((2,), weight))
    assert report["x"].cause == cause


def test_an_error_that_is_not_known_is_called_so():
    assert explain_error(ValueError("mine")).cause == "unknown-error"
