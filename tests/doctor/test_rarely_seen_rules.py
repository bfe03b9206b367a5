"""Each rule that no patient needs is reached by one line, and is true."""

from itertools import count

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograd_surprises.doctor import explain, trace
from autograd_surprises.facts.graph import reachable

INF, HALF = torch.inf, torch.float16


def leaf(values, dtype=None):
    return torch.as_tensor(values, dtype=dtype).detach().clone().requires_grad_()


def hooked(y, hook=lambda gradient: gradient):
    y.register_hook(hook)
    return y


def holds(y):
    """A model whose part it is: explain(model=...) then keeps its hooks."""
    model = nn.Module()
    model.tensor = y
    return {"model": model}


def buffered(x):
    model = nn.Module()
    model.register_buffer("x", x)
    return {"model": model}


def compiled(x):
    return torch.compile(torch.round, backend="aot_eager")(x)


def changed(x, change):
    y = x * 2
    change(y)
    return y


def in_inference_mode(x):
    with torch.inference_mode():
        return (x * 2).sum()


def to_nobody(query):
    mask = torch.zeros(2, 2)
    mask[0] = -INF
    return F.softmax(query @ query.mT + mask, -1) @ query


def through_a_hook_of_a_module(x):
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, inner, outer: (torch.zeros_like(inner[0]),))
    return layer(x)


def layers_of(x, layer, times):
    for _ in range(times):
        x = layer(x)
    return x


def sequence(first, steps=89, scale=0.1):
    torch.manual_seed(0)
    cell, hidden = nn.RNNCell(4, 4), torch.zeros(3, 4)
    with torch.no_grad():
        cell.weight_hh.mul_(scale)
    for part in torch.cat([first, torch.randn(steps, 3, 4)]):
        hidden = cell(part, hidden)
    return hidden


def rounded_by_half(x):
    gradient = torch.full_like(x, 2.5e-8, dtype=torch.float32)
    gradient[0] = 6e-8
    return hooked(x).float() * 1, {"grad_outputs": gradient}


def packed(x):
    return nn.utils.rnn.pack_padded_sequence(x, [5, 1], batch_first=True).data


def units_that_never_switch_on(weight):
    return F.linear(torch.rand(5, 3), weight, torch.tensor([10.0, -10, -10, -10])).relu()


def rows(*which):
    return torch.tensor(which)


IMAGE = torch.arange(8.0)
ZEROS = torch.zeros(2)
REST = leaf([1.0])

# (status, rule, x, a function of it whose sum is the loss, what the sentence says)
REACHED = [
    ("zero", "dead-relu", [0.0, -1.0], torch.relu, "2 of 2 inputs are 0 or less; relu"),
    ("inf", "overflow/backward", leaf([1e-3], HALF), lambda x: x * 300 * 300),
    ("zero", "cancel/shift", [0.5], lambda b: (b + ZEROS) * torch.tensor([1.0, 2.0**-20 - 1])),
    ("zero", "reentrant-checkpoint/hidden", [1.0, 1.0],
     lambda w: checkpoint(lambda v: v * w, leaf([1.0, 2.0]), use_reentrant=True) * 0),
    ("zero", "cancel/shift", torch.rand(4, 1),
     lambda x: F.layer_norm(torch.randn(4, 6) + x.exp(), (6,)).pow(3).mean() / 100),
    ("zero", "normalised/two-values", [[1.0, 2, 5], [3, 1, 4]],
     lambda x: F.batch_norm(x, None, None, training=True, eps=1e-12).pow(3)),
    ("zero", "normalised/two-values", [[1.0, 2, 4, 8], [1, 3, 5, 9]],
     lambda x: F.group_norm(x.double(), 2, eps=1e-12).pow(3)),
    ("zero", "normalised/two-values", [[[1.0], [2.0]], [[3.0], [1.0]]],
     lambda x: F.layer_norm(x.double(), (2, 1), eps=1e-12).pow(3)),
    ("zero", "normalised/proven", [[[1.0, 2], [3, 5]]], lambda x: F.layer_norm(x.double(), (2, 2))),
    ("tiny", "small-factor/probably", [1.0, 2.0],
     lambda x: ((y := hooked(x * 1e-8)).sum() + REST.sum(), holds(y))),
    ("tiny", "small-factor/proven", [1e-6, 2e-6], lambda x: (x * 1e-8).sum() + REST.sum()),
    ("tiny", "underflow/float16-mostly", leaf([1.0] * 3, HALF),
     lambda x: (x * torch.tensor([1.0, 1e-3, 1e-3]).half()).float().sum() * 1e-6, "65536 times"),
    ("zero", "underflow/zero", leaf([1.0, 2.0], HALF), lambda x: hooked(x).float() * 1e-9),
    ("tiny", "underflow/tiny", leaf([1.0] * 1_000_000, HALF), rounded_by_half),
    ("partial", "not-looked-up", torch.ones(6, 2), lambda x: F.embedding(rows(1, 1, 4), x),
     "4 of 6 rows"),
    ("partial", "not-looked-up", torch.ones(3, 2),
     lambda x: F.embedding(rows(1, 0, 0, 2), x, padding_idx=0),
     "row 0 was, 2 times, but it is padding_idx and gets none; 1 of 3 rows"),
    ("partial", "not-looked-up", torch.ones(6, 2), lambda x: F.embedding_bag(rows(1, 4)[None], x),
     "4 of 6 rows"),
    ("partial", "zero-input", torch.ones(3, 4),
     lambda w: (torch.tensor([[0.0, 0, 0, 2], [0, 0, 0, 3]]) @ w.T).pow(2), "3 of 4 inputs"),
    ("partial", "zero-input", torch.ones(2, 3, 1, 1),
     lambda w: F.conv2d(torch.tensor([0.0, 0, 5])[:, None, None], w).pow(2), "2 of 3 inputs"),
    ("partial", "not-picked/targets", torch.ones(2, 3),
     lambda x: F.nll_loss(x, rows(1, -100)), "1 of 2 targets"),
    ("zero", "not-picked/joined-this-time", torch.ones(2, 2),
     lambda x: F.embedding(rows(2, 3), torch.cat([x, torch.ones(2, 2)]))),
    ("partial", "padding", torch.ones(2, 5, 3), packed),
    ("partial", "dead-relu", torch.ones(4, 3), units_that_never_switch_on,
     "15 of 20 inputs are 0 or less, 3 of 4 units"),
    ("zero", "cancel/proven", torch.ones(2, 1),
     lambda w: torch.tensor([[1.0, 2.0], [-1.0, -2.0]]) @ w),
    ("zero", "cancel/shift", [0.5], lambda b: F.softmax(torch.tensor([1.0, 2.0]) + b, 0)[0]),
    ("inf", "infinite-derivative/power", [1e30], lambda x: (x**2).square()),
    ("inf", "division-by-zero/backward", [1e-30], lambda x: 1 / x),
    ("none", "unknown-cut", [1.0, 2.0], lambda x: (x * 2).detach().sum() + REST),
    ("none", "detach/constant", [2.0, 3.0], lambda w: w.detach() * leaf([1.0, 1.0])),
    ("none", "frozen/buffer", torch.tensor([1, 2]), lambda x: (REST * 1, buffered(x))),
    ("none", "frozen/integer", torch.tensor([1, 2]), lambda x: REST),
    ("nan", "hook/not-finite", [1.0, 2.0], lambda x: hooked(x * 2, lambda g: g * torch.nan)),
    ("zero", "hook/zero", [1.0, 2.0], lambda x: hooked(x * 2, lambda g: g * 0)),
    ("zero", "hook/module", [[1.0, 2.0]], through_a_hook_of_a_module),
    ("zero", "zero-factor/in-places", [1.0, 2.0],
     lambda x: x * torch.tensor([0.0, 1.0]) * torch.tensor([1.0, 0.0])),
    ("zero", "zero-factor/number", [1.0, 2.0], lambda x: x**0),
    ("nan", "empty-softmax", torch.ones(1, 1, 2, 4), to_nobody),
    ("nan", "empty-softmax", [-INF, -INF], lambda x: torch.softmax(x, 0)),
    ("nan", "forward-nonfinite/operation", [1.0, 2.0], lambda x: (x * 3e38).prod()),
    ("inf", "overflow/sum", [1.0], lambda x: (x * 3e38).sum() + (x * 3e38).sum()),
    ("inf", "unknown-nonfinite", [0.0], lambda x: torch.polygamma(1, x)),
    ("tiny", "saturated/tiny", [15.0, 16.0], lambda x: torch.sigmoid(x).sum() + REST),
    ("zero", "saturated/zero", [0.0, 0.0], lambda x: layers_of(x, lambda h: (h + 7).tanh(), 8),
     "times the gradient that arrives"),
    ("zero", "zero-start", [1.0, 2.0], lambda x: (x * 2, {"grad_outputs": torch.zeros(2)})),
    ("inf", "nonfinite-start", [1.0, 2.0],
     lambda x: (x * 2, {"grad_outputs": torch.full((2,), INF)})),
    ("zero", "compiled", [0.2, 1.7], compiled),
    ("tiny", "shrinks", torch.ones(1, 3, 4), lambda x: sequence(x, 59, 0.5),
     "60 TanhBackward0"),
    ("zero", "empty-selection/no-elements", [1.0, 2.0],
     lambda x: F.smooth_l1_loss(x[x > 5], torch.zeros(0)) + REST),
    ("zero", "empty-selection/no-elements", torch.zeros(2, 3),
     lambda x: F.cross_entropy(x, rows(-100, -100), reduction="sum")),
    ("nan", "nonfinite-data", [1.0, 2.0], lambda x: (x * torch.tensor([INF, 1.0]))[1:]),
    ("inf", "nonfinite-data", [1.0], lambda x: x * INF),
    ("nan", "masked-too-late/not-finite", [1.0, torch.nan, 1e10],
     lambda x: torch.where(x <= 10, x.exp(), 1.0)),
    ("zero", "padding-row", torch.ones(1, 6),
     lambda x: F.embedding(rows(0, 0), x, padding_idx=0)),
    ("zero", "constant-sum", [[0.1, 0.2, 0.3]], lambda x: x.softmax(1)),
    ("zero", "other-branch", [1.0, 2.0], lambda x: torch.where(x > 5, x * 2, 0.0)),
    ("zero", "unknown-zero", [0.0, 0.0], lambda x: torch.special.i0(x)),
    ("zero", "stationary", [0.0, 0.0], torch.cosh),
    ("zero", "saturated/zero", [-200.0], torch.exp2),
    ("zero", "saturated/zero", [-200.0], torch.expm1),
    ("zero", "saturated/zero", [20.0], torch.erfc),
    ("zero", "saturated/zero", [1e30], torch.atan),
    ("zero", "zero-factor/tensor", [1.0, 2.0], lambda x: torch.addcmul(torch.ones(2), x, ZEROS)),
    ("zero", "zero-factor/tensor", [1.0, 2.0], lambda x: torch.addr(torch.ones(2, 2), x, ZEROS)),
    ("zero", "zero-factor/tensor", [1.0, 2.0], lambda x: torch.vdot(x, ZEROS)),
    ("zero", "zero-factor/tensor", [[[1.0, 2.0]]],
     lambda x: torch.addbmm(torch.ones(1, 2), x, torch.zeros(1, 2, 2))),
    ("zero", "overwritten-values", [1.0, 2.0], lambda x: F.pad(x, (-2, 1))),
    ("zero", "overwritten-values", [1.0, 2.0],
     lambda x: changed(x, torch.Tensor.zero_) * 3 + REST),
    ("zero", "overwritten-values", [1.0, 2.0],
     lambda x: changed(x, lambda y: y.copy_(leaf([3.0, 4.0])))),
    *(("partial", "overwritten-values", [1.0, 2.0, 3.0, 4.0], function) for function in (
        lambda x: x.index_copy(0, rows(1), torch.ones(1)),
        lambda x: x.slice_scatter(torch.ones(2), 0, 0, 2),
        lambda x: x.select_scatter(torch.tensor(1.0), 0, 0),
        lambda x: x.view(2, 2).diagonal_scatter(torch.ones(2)))),
    *(("partial", "not-picked/elements", IMAGE, function) for function in (
        lambda x: x.masked_select(x > 1),
        lambda x: x.take(rows(1, 1)),
        lambda x: x.split([1, 7])[0],
        lambda x: F.max_pool3d(x.view(1, 1, 2, 2, 2), 2),
        lambda x: F.adaptive_max_pool2d(x.view(1, 1, 2, 4), 1),
        lambda x: F.adaptive_max_pool3d(x.view(1, 1, 2, 2, 2), 1),
        lambda x: torch.cummax(x.flip(0), 0).values,
        lambda x: torch.cummin(x, 0).values,
        lambda x: torch.fmax(x, torch.full((8,), 1.5)),
        lambda x: torch.fmin(x, torch.full((8,), 1.5)),
        torch.nanmedian,
        lambda x: torch.mode(x).values)),
    ("zero", "outside-range", [2.0, -2.0, 1.0], lambda x: F.hardtanh(x)[:2], "3 of 3 inputs"),
    ("zero", "outside-range", [2.0, -2.0, 1.0], lambda x: x.clamp(-1, 1)[:2], "2 of 3 inputs"),
    ("zero", "outside-range", [1.0, 2.0, 9.0], lambda x: x.clamp(min=3)[:2], "2 of 3 inputs"),
    ("zero", "outside-range", [1.0, 2.0, -9.0], lambda x: x.clamp(max=0.5)[:2], "2 of 3 inputs"),
    ("zero", "saturated/zero", [[1000.0, 0, 0]], lambda x: F.log_softmax(x, 1)[0, 0]),
    ("partial", "saturated/zero", [[1000.0, 0, 0], [1, 2, 3]],
     lambda x: x.softmax(1) * rows(1, 2, 3)),
    ("nan", "infinite-derivative/forward", [0.0, -1.0, -1.0, 4.0], torch.sqrt, "3 of 4 elements"),
    ("nan", "target-too-long", torch.zeros(3, 3, 3), lambda x: F.ctc_loss(
        x, rows([1, 1, 0], [1, 1, 2], [1, 2, 2]), (3, 3, 3), (2, 3, 3)), "sample 1 has 3 labels, "
     "which need 4 frames, but its input has 3 (2 of 3 samples)"),
    ("inf", "infinite-derivative/backward", [[1.0, 2.0], [0.0, 3.0]],
     lambda x: x ** torch.full((2, 2), 0.5), "[1, 0], a gradient of 1 arrived (its input was 0, "),
    ("zero", "outside-range", [1.0, 2.0], lambda x: x[:1].clamp(min=torch.tensor([3.0, 4.0]))),
]  # fmt: skip
REACHED = [(*row, "")[:5] for row in REACHED]


@pytest.mark.parametrize("status, rule, values, function, says", REACHED, ids=count())
def test_a_rule_is_reached(status, rule, values, function, says):
    torch.manual_seed(0)
    x = leaf(values) if not torch.is_tensor(values) or values.is_floating_point() else values
    y, arguments = y if isinstance(y := function(x), tuple) else (y, {})
    loss = y.sum() if y.dim() and "grad_outputs" not in arguments else y
    found = explain(loss, {"x": x}, **arguments)["x"]
    assert (found.status, found.rule) == (status, rule), found
    assert says in " ".join([found.sentence, *found.also])


# (rule, x, a function of it whose sum is the loss)
ABOUT_THE_LOSS = [
    ("constant-term/maybe", [1.0, 2.0],
     lambda x: x.exp().sum() + (x.detach().exp() * (x > 1)).sum()),
    ("infinite-derivative/forward", [-2.0], torch.log1p),
    ("infinite-derivative/forward", torch.zeros(2, 2), torch.logdet),
    ("infinite-derivative/power", [-1.0], lambda x: 0.0**x),
    ("division-by-zero/forward", [1.0], lambda x: torch.true_divide(x, 0)),
    *(("forward-nonfinite/single-element", [1.0], function) for function in (
        torch.std, lambda x: torch.std_mean(x)[0], torch.var, lambda x: torch.var_mean(x)[0])),
    ("overflow/forward", [1e30, 1e30], torch.square),
    ("overflow/forward", [1e30, 1e30], torch.linalg.vector_norm),
    ("overflow/forward", [1e30, 1e30], torch.norm),
    ("masked-class", [[1.0, -INF, 2.0]], lambda x: F.cross_entropy(x, rows(1)) * 2),
    ("constant-term/certain", [1.0, 2.0], lambda x: (x.exp().sum() + (x > 1).sum()).double()),
    ("forward-nonfinite/made-here", [1e30, 1e30], lambda x: x.cumprod(0)),
    ("empty-selection/all-ignored", torch.zeros(2, 3),
     lambda x: F.cross_entropy(x, rows(-100, -100))),
    ("kl-div-of-probabilities", torch.zeros(2, 3),
     lambda x: F.kl_div(x.softmax(1), torch.ones(2, 3) / 3, reduction="sum")),
    ("double-softmax/with-logits", torch.randn(2, 6), lambda x: F.binary_cross_entropy_with_logits(
        x.sigmoid().split(3, 1)[0], torch.ones(2, 3))),
    ("nonfinite-data", torch.zeros(3, 1, 3), lambda x: F.ctc_loss(  # its input just suffices
        x, rows([1, 1]), (3,), (2,)) * INF),
    ("no-history/inference-mode", [1.0], in_inference_mode),
    ("no-history/integer", [1.0, 2.0], lambda x: (x > 1).sum()),
    ("no-history/cut", [1.0, 2.0], lambda x: x.detach()),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
@pytest.mark.parametrize("rule, values, function", ABOUT_THE_LOSS, ids=count())
def test_a_rule_about_the_loss_is_reached_and_without_a_trace_nothing_else_is_said(
    rule, values, function
):
    x = leaf(values)
    with trace() as t:
        y = function(x)
        loss = y.sum() if y.dim() else y
    assert t.explain(loss, {"x": x})["loss"].rule == rule
    alone = {found.rule for found in explain(loss, {"x": x}).findings if found.name == "loss"}
    assert alone <= {rule, "forward-nonfinite/unknown"}


@pytest.mark.parametrize("start, last, name, rule", [
    (0.0, lambda y: y[:, -1], "weight_hh_l0_reverse", "zero-factor/first-state"),
    (0.0, lambda y: y[:, 0], "weight_hh_l0", "zero-factor/first-state"),
    (0.1, lambda y: y[:, -1], "weight_hh_l0_reverse", None),  # the state is not 0
    # the reverse direction has been through all steps there
    (0.0, lambda y: y[:, 0], "weight_hh_l0_reverse", None),
])  # fmt: skip
def test_the_first_step_of_a_direction_is_told_from_contributions_that_cancel(
    start, last, name, rule
):
    torch.manual_seed(0)
    lstm = nn.LSTM(4, 8, batch_first=True, bidirectional=True)
    output, _ = lstm(torch.rand(16, 5, 4), (torch.full((2, 16, 8), start), torch.zeros(2, 16, 8)))
    names = {node.name() for node in reachable([output.grad_fn])}
    found = explain(last(output).square().sum(), lstm)[name]
    assert (found.status == "zero") == (rule is not None)
    assert rule is None or found.rule == rule or "MkldnnRnnLayerBackward0" not in names
    assert not found.rule.startswith("cancel")
