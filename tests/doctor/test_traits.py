"""The table of torch's operations: each row is a kind of node that torch has, and is true."""

from collections import Counter
from dataclasses import fields

import pytest
import torch
import torch.nn.functional as F
from test_rules import RULES
from torch.nn.modules._functions import BackwardHookFunction

from autograd_surprises.backward.steps import kind_of
from autograd_surprises.doctor import explain, trace
from autograd_surprises.operations import CALLS, KINDS, SPOILS, TABLE, Traits, kind_made_by
from autograd_surprises.symptoms.rule import StepRule

IN_TORCH = {kind_of(name) for name in dir(torch._C._functions)}
IN_TORCH |= {BackwardHookFunction.__name__, "CompiledFunction"}  # classes written in Python
TRAITS = {field.name for field in fields(Traits)} | {
    name for name, value in vars(Traits).items() if isinstance(value, property)
}
STEP_RULES = [rule for rule in RULES if isinstance(rule, StepRule)]

needs_this_torch = pytest.mark.skipif(
    not torch.__version__.startswith("2.13"), reason="older versions lack some kinds"
)


@needs_this_torch
def test_each_kind_is_one_of_torch():
    assert set(KINDS) <= IN_TORCH, set(KINDS) - IN_TORCH


def test_no_kind_has_two_rows_and_no_two_rows_are_the_same():
    assert not [kind for kind, n in Counter(" ".join(TABLE).split()).items() if n > 1]
    assert not [kinds for kinds, n in Counter(TABLE.values()).items() if n > 1]


def test_each_trait_is_documented_and_some_kind_has_it():
    for field in fields(Traits):
        assert f"\n    {field.name} " in Traits.__doc__
        assert any(getattr(traits, field.name) != field.default for traits in KINDS.values())


def test_each_call_of_the_second_table_is_noted_by_a_recording():
    assert set(CALLS) <= {kind_made_by(name) for name in SPOILS}


@needs_this_torch
def test_a_rule_asks_for_traits_and_for_kinds_that_exist():
    asked = {name for rule in STEP_RULES for names in rule.on for name in names.split()}
    unknown = asked - TRAITS - IN_TORCH - {kind_made_by(name) for name in SPOILS}
    assert not unknown
    assert len(asked & TRAITS) > 20


def leaf(*values, dtype=None):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def found(loss, tensor):
    return explain(loss, {"x": tensor})["x"]


ZEROS = torch.zeros(2)
MULTIPLIED_BY_0 = {
    "addcmul": lambda x: torch.addcmul(torch.ones(2), x, ZEROS),
    "addr": lambda x: torch.addr(torch.ones(2, 2), x, ZEROS),
    "vdot": lambda x: torch.vdot(x, ZEROS),
    "addbmm": lambda x: torch.addbmm(torch.ones(1, 2), x[None, None], torch.zeros(1, 2, 2)),
}


@pytest.mark.parametrize("name", MULTIPLIED_BY_0)
def test_a_product_with_zeros(name):
    x = leaf(1.0, 2.0)
    assert found(MULTIPLIED_BY_0[name](x).sum(), x).rule == "zero-factor/tensor"


FLAT_AT = {"exp2": -200.0, "expm1": -200.0, "erfc": 20.0, "atan": 1e30}


@pytest.mark.parametrize("name", FLAT_AT)
def test_a_smooth_function_is_flat_far_out(name):
    x = leaf(FLAT_AT[name], FLAT_AT[name])
    assert found(getattr(torch, name)(x).sum(), x).rule == "saturated/zero"


def test_cosh_is_flat_at_one_point():
    x = leaf(0.0, 0.0)
    assert found(x.cosh().sum(), x).rule == "stationary"


@pytest.mark.parametrize(
    ("function", "count"), [(F.hardtanh, "3 of 3 inputs"), (torch.clamp, "2 of 3 inputs")]
)
def test_a_bound_lies_outside_of_hardtanh_and_inside_of_clamp(function, count):
    x = leaf(2.0, -2.0, 1.0)
    result = found(function(x, -1.0, 1.0)[:2].sum(), x)
    assert (result.rule, result.sentence.startswith(count)) == ("outside-range", True)


def image(*shape):
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape).requires_grad_()


PICKED = {
    "masked_select": (lambda x: x.masked_select(x > 1), image(4)),
    "take": (lambda x: x.take(torch.tensor([1, 1])), image(4)),
    "split_with_sizes": (lambda x: x.split([1, 3])[0], image(4)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), image(1, 1, 2, 2, 2)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 1), image(1, 1, 2, 2)),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, 1), image(1, 1, 2, 2, 2)),
    "cummax": (lambda x: torch.cummax(x.flip(0), 0).values, image(4)),
    "cummin": (lambda x: torch.cummin(x, 0).values, image(4)),
    "fmax": (lambda x: torch.fmax(x, torch.full((4,), 1.5)), image(4)),
    "fmin": (lambda x: torch.fmin(x, torch.full((4,), 1.5)), image(4)),
    "nanmedian": (lambda x: torch.nanmedian(x), image(4)),
    "mode": (lambda x: torch.mode(x).values, image(4)),
}


@pytest.mark.parametrize("name", PICKED)
def test_only_what_is_picked_gets_a_gradient(name):
    function, x = PICKED[name]
    result = found(function(x).sum(), x)
    assert (result.status, result.rule) == ("partial", "not-picked/elements")


OVERWRITTEN = {
    "index_copy": lambda x: x.index_copy(0, torch.tensor([1]), torch.ones(1)),
    "slice_scatter": lambda x: x.slice_scatter(torch.ones(2), 0, 0, 2),
    "select_scatter": lambda x: x.select_scatter(torch.tensor(1.0), 0, 0),
    "diagonal_scatter": lambda x: x.view(2, 2).diagonal_scatter(torch.ones(2)),
}


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_what_is_overwritten_gets_no_gradient(name):
    x = leaf(1.0, 2.0, 3.0, 4.0)
    result = found(OVERWRITTEN[name](x).sum(), x)
    assert (result.status, result.rule) == ("partial", "overwritten-values")


def test_what_copy_replaces_gets_no_gradient():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.copy_(leaf(3.0, 4.0))
    assert found(y.sum(), x).rule == "overwritten-values"


def test_rows_of_a_bag_are_counted():
    table = torch.ones(6, 2, requires_grad=True)
    result = found(F.embedding_bag(torch.tensor([[1, 1], [4, 1]]), table).sum(), table)
    assert result.rule == "not-looked-up" and result.sentence.startswith("4 of 6 rows")


def test_a_joined_table_whose_rows_nobody_looked_up_is_normal():
    table, other = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    loss = F.embedding(torch.tensor([2, 3]), torch.cat([table, other])).sum()
    result = found(loss, table)
    assert (result.rule, result.alarm) == ("not-picked/joined-this-time", False)


def test_group_norm_over_two_values_makes_1_and_minus_1_of_them():
    torch.manual_seed(0)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    result = found(F.group_norm(x, 2, eps=1e-12).pow(3).sum(), x)
    assert (result.status, result.rule) == ("tiny", "normalised/two-values")


EDGES = {"erfinv": (torch.erfinv, 1.0), "xlog1py": (lambda x: torch.special.xlog1py(2.0, x), -1.0)}


@pytest.mark.parametrize("name", EDGES)
def test_the_edge_of_a_domain(name):
    function, at = EDGES[name]
    x = leaf(at, 0.0)
    assert found(function(x).sum(), x).rule.startswith("infinite-derivative/")


FIRST_NOT_FINITE = {
    "log1p": (torch.log1p, leaf(-2.0), "infinite-derivative/forward"),
    "true_divide": (lambda x: torch.true_divide(x, 0), leaf(1.0), "division-by-zero/forward"),
    "rpow": (lambda x: 0.0**x, leaf(-1.0), "infinite-derivative/power"),
    "logdet": (torch.logdet, torch.zeros(2, 2, requires_grad=True), "infinite-derivative/forward"),
    "std_mean": (lambda x: torch.std_mean(x)[0], leaf(1.0), "forward-nonfinite/single-element"),
}


@pytest.mark.filterwarnings("ignore:std_mean.*degrees of freedom:UserWarning")
@pytest.mark.parametrize("name", FIRST_NOT_FINITE)
def test_a_recorded_call_is_known_by_its_name(name):
    function, x, rule = FIRST_NOT_FINITE[name]
    with trace() as t:
        loss = function(x).sum() + 0
    result = t.explain(loss, {"x": x})["loss"]
    assert result.rule == rule


def test_probabilities_remain_such_in_a_part_of_them():
    scores = torch.randn(2, 6, requires_grad=True)
    first, _ = scores.sigmoid().split(3, 1)
    loss = F.binary_cross_entropy_with_logits(first, torch.ones(2, 3))
    assert explain(loss, {"x": scores})["loss"].rule == "double-softmax/with-logits"


def test_a_constant_term_is_found_behind_a_cast():
    scores = leaf(1.0, 2.0)
    with trace() as t:
        loss = (scores.exp().sum() + (scores > 1).sum()).double()
    assert t.explain(loss, {"x": scores})["loss"].rule == "constant-term/certain"


def test_elements_that_a_selection_reorders_do_not_correspond():
    x = leaf(-1.0, 2.0, -3.0)
    result = found(
        (x.index_select(0, torch.tensor([1, 2, 0])) * torch.tensor([0.0, 1, 1])).sum(), x
    )
    assert "stop in IndexSelect" not in result.node
