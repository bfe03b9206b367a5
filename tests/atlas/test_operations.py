"""Which operations the atlas finds, and which it leaves out."""

import pytest
import torch

from autograd_surprises.atlas import measure
from autograd_surprises.atlas.elementwise_operations import (
    Operation,
    all_operations,
    is_unary,
    unary_operations,
)
from autograd_surprises.atlas.installed import without_aliases
from autograd_surprises.atlas.rows import EXPRESSIONS


@pytest.fixture(scope="module")
def found():
    return {operation.expression for operation in unary_operations()}


@pytest.mark.parametrize(
    "call",
    ["torch.abs(x)", "torch.round(x)", "F.silu(x)", "F.relu6(x)", "special.erfcx(x)"],
)
def test_operations_of_x_alone_are_found(call, found):
    assert call in found


@pytest.mark.parametrize(
    "call",
    [
        "torch.clone(x)",  # a copy
        "torch.zeros_like(x)",  # the same for every x
        "torch.empty_like(x)",  # anything
        "torch.cumsum(x)",  # needs more
        "torch.flipud(x)",  # not elementwise
        "torch.norm_except_dim(x)",  # not elementwise in two dimensions
        "F.softmax(x)",
        "F.dropout(x)",  # random
        "torch.isnan(x)",  # not a float
        "torch.abs_(x)",  # the same as abs
        "torch.save(x)",  # no mathematics
    ],
)
def test_what_is_no_operation_on_numbers_is_left_out(call, found):
    assert call not in found


@pytest.mark.slow
def test_random_operations_are_never_found_and_leave_no_trace():
    before = torch.get_rng_state()
    unary_operations()
    assert torch.equal(torch.get_rng_state(), before)
    assert not any(is_unary(Operation("F.dropout(x)")) for _ in range(3000))


def test_a_new_operation_is_found(monkeypatch):
    monkeypatch.setattr(torch.special, "brand_new", lambda x: x * x, raising=False)
    monkeypatch.setattr(torch.special, "shuffled", lambda x: x.flip(0) * 2, raising=False)
    found = {operation.expression for operation in unary_operations()}
    assert "special.brand_new(x)" in found
    assert "special.shuffled(x)" not in found


def test_a_line_for_what_this_torch_lacks_is_left_out(monkeypatch):
    new = (*EXPRESSIONS, "torch.of_the_future(x, 1)")
    monkeypatch.setattr("autograd_surprises.atlas.elementwise_operations.EXPRESSIONS", new)
    assert {each.expression for each in all_operations()}.isdisjoint({new[-1]})


@pytest.mark.parametrize("call", EXPRESSIONS)
def test_every_written_line_is_elementwise_in_x(call):
    operation, x = Operation(call), torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
    y = operation(x)
    assert y.shape == x.shape and y.dtype == x.dtype
    for i in range(3):
        torch.testing.assert_close(y[i : i + 1], operation(x[i : i + 1]), equal_nan=True)


def test_the_lines_are_sorted_and_single():
    order = [
        (["torch", "F", "special"].index(c.split(".")[0]), c.split("(")[0]) for c in EXPRESSIONS
    ]
    assert order == sorted(order) and len(set(EXPRESSIONS)) == len(EXPRESSIONS)


def test_the_same_under_two_names_is_one_operation():
    calls = [
        "torch.arcsin(x)",
        "torch.asin(x)",
        "torch.sin(x)",
        "special.round(x)",
        "torch.round(x)",
    ]
    kept, aliases = without_aliases([measure(Operation(call)) for call in calls])
    assert aliases == {"torch.asin(x)": ["torch.arcsin(x)"]}  # special.round has another node
    assert {each.expression for each in kept} == {*calls} - {"torch.arcsin(x)"}


def test_two_without_derivative_are_never_the_same():
    calls = ["special.airy_ai(x)", "special.chebyshev_polynomial_t(x, 3)", "special.zeta(x, one)"]
    kept, aliases = without_aliases([measure(Operation(call)) for call in calls])
    assert len(kept) == 3 and aliases == {}
