"""Each operator against its formula: at ordinary numbers, at kinks, far out, in every dtype."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import example, given, settings

from lessons.saved_tensors import saved_tensors
from tests.functions.operators import OPERATORS, OTHERS, among_others

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
DIGITS = {  # how far a result may be from the formula, once rounded
    torch.float64: 1e-12,
    torch.float32: 1e-4,
    torch.bfloat16: 2e-2,
    torch.float16: 4e-3,
}
each_operator = pytest.mark.parametrize("name", OPERATORS)
each_elementwise = pytest.mark.parametrize(
    "name", [name for name, operator in OPERATORS.items() if operator.elementwise]
)
# torch's own, when it first differentiates forwards
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
numbers = st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=8)


def upstream_for(x):
    """No two entries alike, none of them 1, both signs."""
    return (torch.arange(x.numel(), dtype=x.dtype).reshape(x.shape) - 1.5) * 3


def gradient(fn, x, upstream):
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(fn(x), x, upstream)[0]


def expected_gradient(operator, x, upstream):
    """The formula in float64."""
    return operator.times(x.double(), upstream.double()).to(x.dtype)


def same(got, want, dtype, name=""):
    torch.testing.assert_close(
        got,
        want,
        rtol=DIGITS[dtype],
        atol=DIGITS[dtype],
        equal_nan=True,
        msg=lambda text: f"{name}: {text}",
    )


@given(values=numbers)
@example(values=[0.5, 1.5, 2.5, -0.5])  # halves are rounded to even
@settings(max_examples=30)
def test_value_and_gradient(values):
    """All operators in one test, as most of its time goes into making up numbers."""
    x = torch.tensor(values)
    upstream = upstream_for(x)
    for name, operator in OPERATORS.items():
        assert torch.equal(operator.function(x), operator.value(x.double()).float()), name
        got = gradient(among_others(operator.function), x, upstream)
        want = expected_gradient(operator, x, upstream) + OTHERS * upstream
        same(got, want, torch.float32, name)


@each_dtype
@each_operator
def test_at_kinks_and_beside_them(name, dtype):
    operator = OPERATORS[name]
    kinks = torch.tensor([kink for kink in operator.kinks if abs(kink) < torch.inf], dtype=dtype)
    neighbours = [kinks.double().nextafter(kinks.double() + side).to(dtype) for side in (-1, 1)]
    if dtype != torch.float64:  # its own neighbours, one unit in the last place away
        scale = torch.finfo(dtype).eps * kinks.double().abs().clamp(min=1e-3)
        neighbours = [(kinks.double() + side * scale).to(dtype) for side in (-1, 1)]
    x = torch.cat([kinks, *neighbours])
    upstream = upstream_for(x)
    same(operator.function(x), operator.value(x.double()).to(dtype), dtype)
    want = expected_gradient(operator, x, upstream)
    same(gradient(operator.function, x, upstream), want, dtype)


@each_dtype
@each_operator
def test_far_out(name, dtype):
    operator = OPERATORS[name]
    largest = torch.finfo(dtype).max
    x = torch.tensor([-largest, -3e4, -300.0, 300.0, 3e4, largest], dtype=dtype)
    upstream = 8192 * upstream_for(x)  # or a slope of 1e-9 would pass for 0
    upstream = upstream.clamp(-5e4, 5e4)
    assert torch.equal(operator.function(x), operator.value(x.double()).to(dtype))
    want = expected_gradient(operator, x, upstream)
    got = gradient(operator.function, x, upstream)
    torch.testing.assert_close(got, want, rtol=DIGITS[dtype], atol=1e-33)


@each_dtype
@each_operator
def test_values_that_are_no_ordinary_numbers(name, dtype):
    operator = OPERATORS[name]
    x = torch.tensor([-torch.inf, torch.inf, torch.nan, 0.0, -0.0], dtype=dtype)
    y, want = operator.function(x), operator.value(x.double()).to(dtype)
    torch.testing.assert_close(y, want, rtol=0, atol=0, equal_nan=True)
    if "fake_quantize" not in name:  # a zero point, added and taken away, may turn -0 into 0
        assert y.signbit()[3:].tolist() == want.signbit()[3:].tolist()


@each_dtype
@each_elementwise  # else the infinities of a row meet
def test_infinite_upstream_never_becomes_nan(name, dtype):
    near = [-9.0, -4.5, -1.0, -0.3, 0.0, 0.3, 0.5, 1.0, 2.0, 9.0]
    far = [-3e4, -300.0, -45.0, 45.0, 300.0, 3e4]
    x = torch.tensor(near + far, dtype=dtype)
    for upstream in (torch.inf, -torch.inf):
        got = gradient(OPERATORS[name].function, x, torch.full_like(x, upstream))
        want = expected_gradient(OPERATORS[name], x, torch.full_like(x, upstream))
        if name == "step, sigmoid":  # its slope is never 0, but far out too small for any dtype
            want[len(near) :] = upstream
        assert torch.equal(got, want)


@each_operator
def test_work_in_place_on_the_result_changes_neither_input_nor_gradient(name):
    """The report card is content if torch refuses it; here it has to work."""
    x = torch.tensor([-9.0, -1.0, 0.3, 2.0, 9.0], requires_grad=True)
    before, upstream = x.detach().clone(), upstream_for(x)
    y = OPERATORS[name].function(x)
    y.mul_(2)
    got = torch.autograd.grad(y, x, upstream)[0]
    assert torch.equal(x.detach(), before)
    same(got, expected_gradient(OPERATORS[name], before, 2 * upstream), torch.float32)


@each_operator
def test_what_is_saved_for_backward(name):
    x = torch.linspace(-3, 3, 1000).reshape(2, 500).requires_grad_()
    with saved_tensors() as saved:
        y = OPERATORS[name].function(x)
    per_number = saved.bytes / x.numel()
    assert per_number == pytest.approx(OPERATORS[name].saves, abs=0.05)
    del y


@each_operator
def test_the_proxy_has_the_same_gradient(name):
    """It stands in for the operator in torch.compile, and a card or a gallery shows it."""
    operator = OPERATORS[name]
    centres = [0.0, 0.25, -0.25, 0.75, -1.25]  # of bins
    x = torch.tensor([*operator.kinks, *centres, -7.3, -0.4, 0.2, 1.7, 8.1], dtype=torch.float64)
    x = x[x.isfinite()]
    upstream = upstream_for(x)
    want = expected_gradient(operator, x, upstream)
    same(gradient(operator.proxy, x, upstream), want, torch.float64)
