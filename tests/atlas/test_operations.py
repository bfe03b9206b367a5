"""Which operations the atlas finds, and which it leaves out."""

import pytest
import torch

from autograd_surprises.atlas import measure
from autograd_surprises.atlas.elementwise_operations import Operation, unary_operations
from autograd_surprises.atlas.installed import without_aliases
from autograd_surprises.atlas.rows import EXPRESSIONS


@pytest.fixture(scope="module")
def found():
    return {operation.expression for operation in unary_operations()}


@pytest.mark.parametrize(
    "call", ["torch.abs(x)", "torch.round(x)", "F.silu(x)", "F.relu6(x)", "special.erfcx(x)"]
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


@pytest.mark.parametrize("call", EXPRESSIONS)
def test_every_written_line_is_elementwise_in_x(call):
    operation, x = Operation(call), torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
    y = operation(x)
    assert y.shape == x.shape and y.dtype == x.dtype
    for i in range(3):
        torch.testing.assert_close(y[i : i + 1], operation(x[i : i + 1]), equal_nan=True)


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
