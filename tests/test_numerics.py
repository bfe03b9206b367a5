"""The one engine for finite differences, against functions whose slopes are known."""

import math

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import example, given, settings

from autograd_surprises.numerics import (
    distinct_digits,
    exact_digits,
    few_digits,
    is_elementwise,
    one_sided_slopes,
    one_thread,
    partial_slopes,
    slope_and_limit,
)

quarters = st.integers(-8, 8).map(lambda n: n / 4)
floats = st.floats(-1e300, 1e300)


def double(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


# ---- Numbers as text


@given(floats)
def test_a_number_keeps_its_digits_and_no_more_than_asked(number):
    assert float(few_digits(number)) == pytest.approx(number, rel=1e-4)
    assert len(few_digits(number).partition("e")[0].strip("-").replace(".", "").lstrip("0")) <= 5


@given(st.floats(width=32, allow_nan=False), st.sampled_from([torch.float32, torch.float64]))
def test_a_text_tells_a_number_from_all_others_of_its_dtype(number, dtype):
    assert torch.tensor(float(exact_digits(number, dtype)), dtype=dtype) == number


@given(floats, floats)
@example(1.0, 1 + 2**-52)
def test_two_numbers_get_two_texts(one, other):
    first, _, second = distinct_digits(one, 0.5, other)
    assert (first == second) == (one == other)


def test_there_is_no_minus_zero():
    assert few_digits(-0.0) == exact_digits(-0.0) == distinct_digits(-0.0, 1.0)[0] == "0"


# ---- Is it elementwise?

X = torch.linspace(-3, 3, 40, dtype=torch.float64)
NOT_ELEMENTWISE = {
    "the largest": lambda x: x / x.max(),
    "a sum from the left": lambda x: x.cumsum(0),
    "the place": lambda x: x * torch.arange(len(x)),
    "sorted": lambda x: x.sort().values,
    "random": lambda x: x + torch.rand(x.shape),
    "a call ago": lambda x, seen=[]: x + (seen.append(x) or len(seen)),  # noqa: B006
    "one number": torch.sum,
    "another dtype": lambda x: x.float(),
    "no tensor": lambda x: x.tolist(),
    "the middle alone is a tensor": lambda x: x if len(x) == 40 else None,
}


@pytest.mark.parametrize("name", NOT_ELEMENTWISE)
def test_what_is_not_elementwise_is_seen(name):
    assert not is_elementwise(NOT_ELEMENTWISE[name], X)


@pytest.mark.parametrize("function", [torch.sin, torch.round, torch.log, lambda x: 0 * x + 2])
def test_what_is_elementwise_is_seen(function):
    assert is_elementwise(function, X)
    assert is_elementwise(function, double(math.inf, -1, math.nan, 0))
    assert is_elementwise(function, X[:2]) and is_elementwise(function, X[:1])


def test_infinity_does_not_hide_a_sum():
    assert not is_elementwise(
        lambda x: x - x.sum(), torch.cat([X[:20], double(math.inf, math.nan), X[20:]])
    )


def test_an_error_of_the_function_is_raised():
    with pytest.raises(RuntimeError, match="must match"):
        is_elementwise(lambda x: x + torch.ones(3), X)


# ---- Slopes


@given(x=quarters, left=quarters, right=quarters)
def test_all_three_find_both_slopes_of_a_kink(x, left, right):
    def fn(t):
        return torch.where(t < x, left * (t - x), right * (t - x))

    expected = pytest.approx([left, right], abs=1e-6)
    at = double(x)
    assert [slope.item() for slope in one_sided_slopes(fn, at, 1.0)] == expected
    assert [slope.item() for slope in partial_slopes(fn, at)] == expected
    assert [slope_and_limit(fn, at, side)[0] for side in (-1, 1)] == expected


@given(x=quarters, height=quarters.filter(bool), slope=quarters)
def test_beside_a_jump_one_side_has_no_slope_but_from_beyond(x, height, slope):
    def fn(t):
        return slope * t + height * (t >= x)

    at = double(x)
    for left, right in (one_sided_slopes(fn, at, 1.0), partial_slopes(fn, at)):
        assert left.isnan().all() and right.item() == pytest.approx(slope, abs=1e-6)
    for side, value in ((-1, slope * x), (1, slope * x + height)):
        assert slope_and_limit(fn, at, side) == pytest.approx((slope, value), abs=1e-6)


@settings(max_examples=15)
@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_partial_slopes_are_the_jacobian(numbers):
    def fn(x):
        return torch.stack([x[0] @ x[1], x.square().sum(), x[0, 0] * x[1, 1]])

    x = double(*numbers).view(2, 2)
    right = torch.func.jacrev(fn)(x).permute(1, 2, 0)
    for slopes in partial_slopes(fn, x):
        torch.testing.assert_close(slopes, right, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        torch.stack(partial_slopes(fn, x)).mean(0), right, rtol=1e-9, atol=1e-8
    )


def test_a_step_out_of_the_domain_finds_no_slope():
    def root(x):
        if x.min() < 0:
            raise ValueError("negative")
        return x.sqrt() + x

    left, right = partial_slopes(root, double(1.0))
    assert left.item() == pytest.approx(1.5) and right.item() == pytest.approx(1.5)
    left, right = partial_slopes(lambda x: root(x) ** 2, double(0.0))
    assert left.isnan() and not right.isinf()


@pytest.mark.parametrize("fn", [torch.reciprocal, torch.sqrt, lambda x: x.abs().sqrt(), torch.log])
def test_poles_and_vertical_tangents_have_no_slope(fn):
    for slopes in (one_sided_slopes(fn, double(0.0), 1.0), partial_slopes(fn, double(0.0))):
        assert all(slope.isnan() for slope in slopes)


# ---- One thread


def test_threads_are_as_before_after_an_error_too():
    before = torch.get_num_threads()
    torch.set_num_threads(3)  # the tests run with one, which hides what is not restored
    try:
        with pytest.raises(KeyError), one_thread():
            assert torch.get_num_threads() == 1
            raise KeyError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
