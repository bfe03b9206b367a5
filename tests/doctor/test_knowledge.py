"""Rows of the doctor's tables that no patient has: each is reached by a few lines, and is true."""

import itertools

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


def too_small_for_half_with_a_hook():
    x = leaf(1.0, 2.0, dtype=torch.float16)
    x.register_hook(lambda gradient: gradient)
    return (x.float() * 1e-9).sum(), x


def mostly_too_small_for_half():
    x = leaf(1.0, 1.0, 1.0, dtype=torch.float16)
    return (x * torch.tensor([1.0, 1e-3, 1e-3]).half()).float().sum() * 1e-6, x


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


def loss_in_inference_mode():
    with torch.inference_mode():
        weight = leaf(1.0)
        return (weight * 2).sum(), weight


def integers():
    return leaf(1.0).sum(), torch.tensor([1, 2])


def attention_to_nobody():
    query, mask = torch.ones(1, 1, 2, 4, requires_grad=True), torch.zeros(2, 2)
    mask[0] = -torch.inf
    weights = F.softmax(query @ query.mT + mask, -1)
    return (weights @ query).sum(), query


def empty_row():
    x = leaf(-torch.inf, -torch.inf)
    return torch.softmax(x, 0).sum(), x


def product_too_large():
    x = leaf(1.0, 2.0)
    return (x * 3e38).prod(), x


def sum_too_large():
    x = leaf(1.0)
    return (x * 3e38).sum() + (x * 3e38).sum(), x


def pole_that_is_not_known():
    x = leaf(0.0)
    return torch.polygamma(1, x).sum(), x


def module_hook():
    layer, x = nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True)
    layer.register_full_backward_hook(lambda module, inner, outer: (torch.zeros_like(inner[0]),))
    return layer(x).sum(), x


def nearly_flat():
    x = leaf(15.0, 16.0)
    return torch.sigmoid(x).sum() + leaf(1.0).sum(), x


def eight_layers(x):
    outputs = [torch.tanh(x + 7)]
    while len(outputs) < 8:
        outputs.append(torch.tanh(outputs[-1] + 7))
    return outputs


def too_small_a_product_of_slopes():
    x = leaf(0.0, 0.0)
    return eight_layers(x)[-1].sum(), x


def rounded_away_by_half_with_a_hook():
    x = torch.ones(1_000_000, dtype=torch.float16, requires_grad=True)
    x.register_hook(lambda gradient: gradient)
    gradient = torch.full_like(x, 2.5e-8, dtype=torch.float32)
    gradient[0] = 6e-8
    return x.float(), x, {"grad_outputs": gradient}


def power_of_zero():
    x = leaf(1.0, 2.0)
    return (x**0).sum(), x


def zeros_from_outside():
    x = leaf(1.0, 2.0)
    return x * 2, x, {"grad_outputs": torch.zeros(2)}


def infinity_from_outside():
    x = leaf(1.0, 2.0)
    return x * 2, x, {"grad_outputs": torch.full((2,), torch.inf)}


def integer_loss():
    x = leaf(1.0, 2.0)
    return (x > 1).sum(), x


def buffer():
    model = nn.BatchNorm1d(2)
    return model(torch.rand(4, 2)).pow(3).sum(), model.running_mean, {"model": model}


def hook_that_gives_nan():
    x = leaf(1.0, 2.0)
    h = x * 2
    h.register_hook(lambda gradient: gradient * torch.nan)
    return h.sum(), x


def bias_before_softmax():
    bias = leaf(0.5)
    return F.softmax(torch.tensor([1.0, 2.0]) + bias, 0)[0], bias


def half_of_it_twice():
    x = leaf(1.0, 2.0)
    return (x * torch.tensor([0.0, 1.0]) * torch.tensor([1.0, 0.0])).sum(), x


def small_divisor():
    x = leaf(1e-30)
    return (torch.ones(1) / x).sum(), x


def power_too_large():
    x = leaf(1e30)
    return (x**2).square().sum(), x


def masked_target():
    scores = torch.tensor([[1.0, -torch.inf, 2.0]], requires_grad=True)
    return F.cross_entropy(scores, torch.tensor([1])) * 2, scores


def nothing_out_of_a_checkpoint():
    x, weight = leaf(1.0, 2.0), leaf(1.0, 1.0)
    return (checkpoint(lambda v: v * weight, x, use_reentrant=True) * 0).sum(), weight


def shift_before_layer_norm():
    torch.manual_seed(0)
    x, shift = torch.randn(4, 6), torch.randn(4, 1, requires_grad=True)
    return F.layer_norm(x * 1 + shift.exp(), (6,)).pow(3).mean() / 100, shift


def batch_norm_of_two():
    torch.manual_seed(0)
    x = torch.randn(2, 3, requires_grad=True)
    return F.batch_norm(x, None, None, training=True, eps=1e-12).pow(3).sum(), x


def layer_norm_with_a_hook():
    x = torch.tensor([[1.0, 2.0, 4.0, 8.0]], requires_grad=True)
    y = F.layer_norm(x, (4,))
    y.register_hook(lambda gradient: gradient)
    return y.sum(), x, {"model": Holds(y)}


class Holds(nn.Module):
    def __init__(self, tensor):
        super().__init__()
        self.tensor = tensor


def small_factor_with_a_hook():
    x = leaf(1.0, 2.0)
    y = x * 1e-8
    y.register_hook(lambda gradient: gradient)
    return y.sum() + leaf(1.0).sum(), x, {"model": Holds(y)}


def rows_of_a_table():
    table = torch.ones(6, 2, requires_grad=True)
    return F.embedding(torch.tensor([1, 1, 4]), table).sum(), table


def rows_of_padding():
    table = torch.ones(3, 2, requires_grad=True)
    return F.embedding(torch.tensor([1, 0, 0, 2]), table, padding_idx=0).sum(), table


def empty_pixels():
    torch.manual_seed(0)
    image, layer = torch.rand(5, 4), nn.Linear(4, 3)
    image[:, :3] = 0
    return layer(image).pow(2).sum(), layer.weight


def empty_channel():
    torch.manual_seed(0)
    image, layer = torch.rand(2, 3, 5, 5), nn.Conv2d(3, 2, 3)
    image[:, :2] = 0
    return layer(image).pow(2).sum(), layer.weight


def one_class_of_three():
    scores = torch.randn(2, 3, requires_grad=True)
    return F.nll_loss(scores, torch.tensor([1, -100])), scores


def packed_sequence():
    x = torch.ones(2, 5, 3, requires_grad=True)
    packed = nn.utils.rnn.pack_padded_sequence(x, [5, 1], batch_first=True)
    return packed.data.sum(), x


def units_that_never_switch_on():
    torch.manual_seed(0)
    layer = nn.Linear(3, 4)
    nn.init.constant_(layer.bias, -10.0)
    nn.init.constant_(layer.bias[0], 10.0)
    return layer(torch.rand(5, 3)).relu().sum(), layer.weight


def mean_of_a_symmetric_batch():
    x, weight = torch.tensor([[1.0, 2.0], [-1.0, -2.0]]), torch.ones(2, 1, requires_grad=True)
    return (x @ weight).sum(), weight


def slope_without_negative_inputs():
    act = nn.PReLU()
    return act(torch.ones(3)).sum(), act.weight


REACHED = [
    (slope_without_negative_inputs, "zero", "empty-selection"),
    (nothing_out_of_a_checkpoint, "zero", "reentrant-checkpoint"),
    (shift_before_layer_norm, "tiny", "cancel"),
    (batch_norm_of_two, "tiny", "normalised"),
    (layer_norm_with_a_hook, "zero", "normalised"),
    (small_factor_with_a_hook, "tiny", "small-factor"),
    (mostly_too_small_for_half, "tiny", "underflow"),
    (rows_of_a_table, "partial", "not-looked-up"),
    (rows_of_padding, "partial", "not-looked-up"),
    (empty_pixels, "partial", "zero-input"),
    (empty_channel, "partial", "zero-input"),
    (one_class_of_three, "partial", "not-picked"),
    (packed_sequence, "partial", "padding"),
    (units_that_never_switch_on, "partial", "dead-relu"),
    (mean_of_a_symmetric_batch, "zero", "cancel"),
    (power_too_large, "inf", "infinite-derivative"),
    (small_divisor, "inf", "division-by-zero"),
    (integer_loss, "none", "unknown-cut"),
    (buffer, "none", "frozen"),
    (hook_that_gives_nan, "nan", "hook"),
    (bias_before_softmax, "zero", "cancel"),
    (half_of_it_twice, "zero", "zero-factor"),
    (loss_in_inference_mode, "none", "inference-mode"),
    (integers, "none", "frozen"),
    (attention_to_nobody, "nan", "empty-softmax"),
    (empty_row, "nan", "empty-softmax"),
    (product_too_large, "nan", "forward-nonfinite"),
    (sum_too_large, "inf", "overflow"),
    (pole_that_is_not_known, "inf", "unknown-nonfinite"),
    (module_hook, "zero", "hook"),
    (nearly_flat, "tiny", "saturated"),
    (too_small_a_product_of_slopes, "zero", "saturated"),
    (rounded_away_by_half_with_a_hook, "tiny", "underflow"),
    (power_of_zero, "zero", "zero-factor"),
    (zeros_from_outside, "zero", "zero-start"),
    (infinity_from_outside, "inf", "nonfinite-start"),
    (compiled, "zero", "compiled"),
    (detached_afterwards, "none", "detach"),
    (overwritten, "zero", "overwritten-values"),
    (first_step_of_a_long_sequence, "zero", "part-is-zero"),
    (small_factor, "tiny", "small-factor"),
    (nothing_selected, "zero", "empty-selection"),
    (all_ignored, "zero", "empty-selection"),
    (too_small_for_half_with_a_hook, "zero", "underflow"),
    (infinite_constant, "nan", "nonfinite-data"),
    (cut_without_a_trace, "none", "unknown-cut"),
    (other_branch, "zero", "other-branch"),
    (everything_padded_away, "zero", "overwritten-values"),
    (masked_target, "ok", ""),
    (not_known, "zero", "unknown-zero"),
]


@pytest.mark.parametrize("make, status, cause", REACHED, ids=[row[0].__name__ for row in REACHED])
def test_a_reason_is_reached(make, status, cause):
    loss, tensor, *arguments = make()
    found = explain(loss, {"tensor": tensor}, **dict(*arguments))["tensor"]
    assert (found.status, found.cause) == (status, cause), found


def test_a_slope_that_is_not_0_is_not_called_too_small_for_a_float():
    loss, x = too_small_a_product_of_slopes()
    outputs = eight_layers(x)
    slopes = [torch.autograd.grad(b.sum(), a)[0] for a, b in itertools.pairwise(outputs)]
    assert all(slope.all() for slope in slopes)  # only their product is 0
    assert "its derivative is" not in explain(loss, {"x": x})["x"].sentence


def test_a_compiled_block_is_read_by_a_trace():
    model = Rounded()
    fast = torch.compile(model, backend="aot_eager")
    with trace() as t:
        loss = fast(torch.ones(2)).sum()
    found = t.explain(loss, model)["weight"]
    assert (found.cause, found.where.source) == (
        "staircase", "return (self.weight * x).round()"
    )  # fmt: skip


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


def test_a_target_that_is_masked_is_not_called_an_empty_row():
    loss, _ = masked_target()
    assert explain(loss)["loss"].cause == "masked-class"


def test_an_error_that_is_not_known_is_called_so():
    assert explain_error(ValueError("mine")).cause == "unknown-error"


@pytest.mark.parametrize("operation", [torch.square, torch.linalg.vector_norm, torch.norm])
def test_what_overflows_is_not_only_said_to_be_at_the_edge_of_its_domain(operation):
    x = leaf(1e30, 1e30)
    with trace() as t:
        loss = operation(x).sum()
    assert t.explain(loss, {"x": x})["loss"].rule == "overflow/forward"


def said_of(make):
    loss, tensor = make()
    return explain(loss, {"tensor": tensor})["tensor"].sentence


def test_counts_of_a_proven_cause_are_true():
    assert said_of(rows_of_a_table).startswith("4 of 6 rows")
    assert said_of(rows_of_padding).startswith("1 of 3 rows")
    assert said_of(empty_pixels).startswith("3 of 4 inputs")
    assert said_of(empty_channel).startswith("2 of 3 inputs")
    assert said_of(one_class_of_three).startswith("1 of 2 targets are ignored")
    assert "15 of 20 inputs are 0 or less, 3 of 4 units" in said_of(units_that_never_switch_on)
