"""Curves against closed forms, and what gradient_curve refuses."""

import functools
import math

import hypothesis.strategies as st
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, example, given, settings

from helpers.curves.numbers import gradient_curve
from helpers.curves.regions import name_places
from helpers.functions import clamp, round_ste

SMOOTH = {
    "sin": (torch.sin, torch.cos),
    "exp": (torch.exp, torch.exp),
    "tanh": (torch.tanh, lambda x: 1 - torch.tanh(x) ** 2),
    "line": (lambda x: 2 - 0.5 * x, lambda x: torch.full_like(x, -0.5)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_against_their_derivative(name):
    fn, derivative = SMOOTH[name]
    curve = gradient_curve(fn)
    torch.testing.assert_close(curve.y, fn(curve.x))
    torch.testing.assert_close(curve.grad, derivative(curve.x))
    torch.testing.assert_close(curve.slope, derivative(curve.x), rtol=1e-6, atol=1e-6)
    assert curve.disagreement() == []
    assert curve.jumps(curve.y) == curve.jumps(curve.grad) == []


@given(step=st.floats(0.05, 3), offset=st.floats(-3, 3))
@settings(max_examples=40)
def test_a_staircase_has_slope_zero_and_its_jumps_where_they_are(step, offset):
    curve = gradient_curve(lambda x: torch.floor((x - offset) / step) * step)
    assert not curve.grad.any()
    assert not curve.slope.nan_to_num(0).any()
    jumps = curve.x[curve.jumps(curve.y)]
    first = math.floor((-3 - offset) / step) - 1
    wanted = [offset + step * k for k in range(first, first + int(6 / step) + 4)]
    # a jump at the very end of the interval may be in or out
    wanted = [jump for jump in wanted if -3 + 1e-9 < jump < 3 - 1e-9]
    inner = [jump for jump in jumps.tolist() if -3 + 1e-9 < jump < 3 - 1e-9]
    assert inner == pytest.approx(wanted, abs=1e-9)
    assert curve.disagreement() == []


@given(low=st.floats(-2.9, -0.1), high=st.floats(0.1, 2.9))
@settings(max_examples=40)
def test_the_kinks_of_clamp_are_found_to_the_last_bit(low, high):
    curve = gradient_curve(lambda x: clamp(x, low, high, bound_gradient=0.5))
    at_bounds = (curve.x == low) | (curve.x == high)
    assert at_bounds.sum() == 2
    assert curve.grad[at_bounds].tolist() == [0.5, 0.5]
    inside = (curve.x > low) & (curve.x < high)
    assert torch.equal(curve.grad[~at_bounds], inside[~at_bounds].double())
    assert curve.disagreement() == []


@pytest.mark.parametrize("far", [1e6, -1e6])
def test_far_from_0_a_jump_is_no_slope(far):
    curve = gradient_curve(lambda x: torch.floor(4 * (x - far)), (far, far + 1))
    jumps = curve.x[curve.jumps(curve.y)] - far
    assert jumps.tolist() == pytest.approx([0.25, 0.5, 0.75, 1], abs=1e-6)
    assert curve.describe() == "value 0 to 4, gradient 0, slope 0"


@given(jump=st.one_of(st.floats(-2.9, 2.9), st.integers(-290, 290).map(lambda n: n / 100)))
@example(jump=0.0)
@example(jump=1e-9)
@settings(max_examples=40)
def test_a_jump_is_found_to_the_last_bit(jump):
    assume(jump == 0 or abs(jump) > 1e-14)  # 0 has neighbours that far
    curve = gradient_curve(lambda x: torch.where(x >= jump, x + 1, x))
    (i,) = curve.jumps(curve.y)
    assert curve.x[i + 1] == jump
    assert jump == 0 or curve.x[i] == math.nextafter(jump, -math.inf)


def test_a_listed_kink_is_sampled_with_its_float_neighbours():
    kinks = (-3.0, 1 / 3, 3.0)  # two are ends of the interval
    x = gradient_curve(torch.sin, kinks=kinks).x.tolist()
    beside = {math.nextafter(kink, side) for kink in kinks for side in (-9, 9)}
    assert {*kinks, *(each for each in beside if -3 < each < 3)} <= {*x}


def with_gradient_1(value):
    """A function with this value and the gradient 1."""
    return lambda x: x + (value(x) - x).detach()


LIES = {  # the gradient 1 is the slope outside of (a, b), or inside
    "kinks, a lie between": lambda x, a, b: x - x.clamp(a, b) + a,
    "kinks, lies outside": lambda x, a, b: x.clamp(a, b),
    "jumps, a lie between": lambda x, a, b: torch.where((x >= a) & (x <= b), 2 * x + 10, x),
    "jumps, a lie amid": lambda x, a, b: torch.where((x > a) & (x < b), 2 * x + 10, x),
    "jumps, a lie up to one": lambda x, a, b: torch.where((x > a) & (x <= b), 2 * x + 10, x),
    "jumps, lies outside": lambda x, a, b: torch.where((x >= a) & (x <= b), x + 10, 2 * x),
}
ends = st.one_of(
    st.floats(-3, 3),
    st.integers(0, 400).map(lambda i: -3 + 0.015 * i),  # on the grid, or a float beside it
    st.integers(0, 400).map(lambda i: -3 + 0.015 * i + 2e-5),  # where differences see both sides
    st.sampled_from([-3.0, 0.0, 1 / 3, 3.0]),
)


@pytest.mark.parametrize("name", LIES)
@given(a=ends, b=ends)
@example(a=-2.125, b=2.625)  # flat but for rounding
@example(a=0.0, b=0.075)  # a float beside a point of the grid
@settings(max_examples=20)
def test_a_lie_ends_where_the_kink_or_jump_is(name, a, b):
    a, b = sorted((a, b))
    parts = (a + 3, b - a, 3 - b)
    assume(all(part == 0 or part > 0.05 for part in parts) and a < b)  # narrower ones may be missed
    found = gradient_curve(with_gradient_1(lambda x: LIES[name](x, a, b))).disagreement()
    lies = [(-3.0, a), (b, 3.0)] if "outside" in name else [(a, b)]
    expected = [end for lie in lies if lie[0] < lie[1] for end in lie]
    assert [end for lie in found for end in lie] == pytest.approx(expected, abs=2e-9)


def test_a_lie_at_one_kink_does_not_reach_the_next():
    def two_kinks(x):  # with no point between them, and a lie of 5 at 0 and its neighbours
        return x.abs() + (x - 0.01).abs() + torch.where(x.abs() < 1e-13, 5 * (x - x.detach()), 0)

    assert gradient_curve(two_kinks).disagreement() == [(0.0, 0.0)]


@pytest.mark.parametrize(
    "fn, x",
    [
        *((fn, (-3, 3)) for fn in (torch.relu, F.hardtanh, torch.frac, torch.tan)),
        (lambda x: torch.sin(30 * x), (-3, 3)),
        (lambda x: x**1.5, (0, 3)),
        (lambda x: torch.xlogy(x, x), (0, 3)),
        (lambda x: x + 1e8, (-3, 3)),
        (torch.sin, (0, 200)),
    ],
)
def test_honest_functions_are_not_accused(fn, x):
    assert gradient_curve(fn, x).disagreement() == []


def test_small_lies_are_found_too():
    assert gradient_curve(lambda x: 1e-5 * round_ste(x)).disagreement() == [(-3.0, 3.0)]
    assert gradient_curve(round_ste, grad_output=1e-6).disagreement() == [(-3.0, 3.0)]


def test_a_finite_gradient_of_a_nan_is_a_lie():
    assert gradient_curve(torch.log).disagreement() == [(-3.0, 0.0)]


def test_more_steps_than_points_are_all_found():
    curve = gradient_curve(lambda x: torch.round(100 * x))
    assert len(curve.jumps(curve.y)) == 600


def test_the_slope_beside_a_kink_is_one_sided():
    curve = gradient_curve(torch.abs)
    at = (curve.x == 0).nonzero().item()
    assert curve.slope_left[at].item() == pytest.approx(-1)
    assert curve.slope_right[at].item() == pytest.approx(1)
    assert curve.slope[at].item() == pytest.approx(0)


def test_grad_output_scales_the_gradient_and_not_the_slope():
    once, thrice = (gradient_curve(torch.sin, grad_output=g) for g in (1.0, 3.0))
    torch.testing.assert_close(thrice.grad, 3 * once.grad)
    assert torch.equal(thrice.slope, once.slope)
    assert thrice.disagreement() == []


def test_a_module_a_partial_and_an_in_place_function():
    assert torch.equal(gradient_curve(torch.nn.ReLU()).y, gradient_curve(torch.relu).y)
    partial = functools.partial(torch.clamp, min=0)
    assert torch.equal(gradient_curve(partial).y, gradient_curve(torch.relu).y)
    in_place = gradient_curve(lambda x: (x * 1).relu_())
    assert torch.equal(in_place.grad, gradient_curve(torch.relu).grad)


def outside(number):
    """x, with the gradient 1 from -1 to 1 and another number outside."""

    def function(x):
        y = x.clone()
        y.register_hook(lambda gradient: gradient.masked_fill(x.abs() > 1, number))
        return y

    return function


def bounded(bound_gradient):
    return functools.partial(clamp, min=-1, max=1, bound_gradient=bound_gradient)


REGIONS = {  # what is said of the gradient
    "one amid another": (bounded(1), "1 from -1 to 1, 0 outside"),
    "single points": (bounded(0.5), "1 between -1 and 1, 0.5 at -1 and 1, 0 outside"),
    "one beside another": (torch.relu, "0 below 0, 1 above 0"),
    "three": (lambda x: x * (x > -1) + x * (x > 1), "0 below -1, 1 from -1 to 1, 2 above 1"),
    "rounded ends": (lambda x: x.clamp(-2 / 3, 2 / 3), "1 from -0.67 to 0.67, 0 outside"),
    "several amid one": (
        lambda x: x.clamp(-2, -1) + x.clamp(1, 2),
        "1 from -2 to -1 and from 1 to 2, 0 elsewhere",
    ),
    "varying inside": (lambda x: x.clamp(-1, 2) ** 2, "-2 to 4 from -1 to 2, 0 outside"),
    "inf outside": (outside(torch.inf), "1 from -1 to 1, inf outside"),
    "-inf outside": (outside(-torch.inf), "1 from -1 to 1, -inf outside"),
    "NaN outside": (outside(torch.nan), "1 from -1 to 1, NaN outside"),
    "NaN and inf": (torch.sqrt, "NaN below 0, 0.289 to 4.08 above 0, inf at 0"),
    "NaN up to a pole": (
        lambda x: (x - 0.3).sqrt(),
        "NaN below 0.3, 0.304 to 4.08 above 0.3, inf at 0.3",
    ),
    "a pole": (lambda x: 1 / x, "-inf at 0, -4.44e+03 to -0.111 elsewhere"),
    "many regions": (lambda x: (torch.round(x) % 2) * x, "0 to 1"),
    "many points": (lambda x: (x - x.round()).abs().sqrt(), "-10.8 to 10.8, NaN in 7 places"),
    "named points": (torch.atanh, "-99.8 to 50.3, inf at -1 and at 1"),
    "smooth": (torch.sin, "-0.99 to 1"),
    "nothing finite": (lambda x: x * torch.nan, "NaN"),
}


@pytest.mark.parametrize("name", REGIONS)
def test_describe_names_the_regions_of_the_gradient(name):
    fn, gradient = REGIONS[name]
    curve = gradient_curve(fn)
    assert f", gradient {gradient}, slope" in curve.describe()
    has_regions = "," in gradient
    is_same = curve.describe().endswith("slope the same")
    assert is_same == (has_regions and not curve.disagreement())


def test_three_places_are_named_and_four_are_counted():
    places = [(0.0, 0.0), (1.0, 1.0), (2.0, 2.5), (3.0, 3.0)]
    assert name_places(places[:3], width=6) == "at 0 and at 1 and from 2 to 2.5"
    assert name_places(places, width=6) == "in 4 places"


def test_describe_names_the_regions_of_the_value():
    assert gradient_curve(torch.sign).describe().startswith("value -1 below 0, 1 above 0, 0 at 0, ")
    assert gradient_curve(torch.log).describe().startswith("value NaN below 0, -4.2 to 1.1 above 0")


def test_a_function_that_calls_autograd_itself():
    def slope_of_sin(x):
        return torch.autograd.grad(torch.sin(x).sum(), x, create_graph=True)[0]

    curve = gradient_curve(slope_of_sin)
    torch.testing.assert_close(curve.grad, -torch.sin(curve.x))


@pytest.mark.parametrize(
    "fn, arguments, error, message",
    [
        (torch.cumsum, {"dim": 0}, ValueError, "cumsum needs to be elementwise and repeatable"),
        (lambda x: x / x.max(), {}, ValueError, "elementwise and repeatable"),
        (lambda x: F.dropout(x, 0.5), {}, ValueError, "elementwise and repeatable"),
        (lambda x: torch.round(1000 * x), {}, ValueError, "changes faster than 403 points"),
        (torch.sin, {"x": (1e9, 1e9 + 1)}, ValueError, "too short to tell a slope from rounding"),
        (torch.sin, {"grad_output": "1"}, TypeError, "a finite number, got '1'"),
        (torch.sum, {}, ValueError, r"turned shape \(401,\) into \(\)"),
        (lambda x: x > 0, {}, TypeError, "returned torch.bool, which has no gradient"),
        (lambda x: x.float(), {}, TypeError, "returned torch.float32 for a float64 input"),
        (lambda x: x.tolist(), {}, TypeError, "needs to return a tensor, got list"),
        (lambda x: x.detach().sin(), {}, ValueError, "is not connected to x: detach"),
        (3, {}, TypeError, "fn needs to be a function of a tensor, got int"),
        (torch.sin, {"x": (1, 0)}, ValueError, r"low < high, both finite, got \(1, 0\)"),
        (torch.sin, {"x": (0, math.inf)}, ValueError, "both finite"),
        (torch.sin, {"x": 3}, TypeError, r"two numbers \(low, high\), got 3"),
        (torch.sin, {"points": 1}, ValueError, "at least 2, got 1"),
        (torch.sin, {"kinks": (9,)}, ValueError, r"lie in x = \(-3, 3\), got \[9.0\]"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(fn, arguments, error, message):
    with pytest.raises(error, match=message):
        gradient_curve(fn, **arguments)


class Forgetful(torch.autograd.Function):
    """Its backward has no return."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)  # what is None stays None on its way

    @staticmethod
    def backward(ctx, grad_output):
        grad_output * 2


class Passing(Forgetful):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def test_a_backward_that_returns_none_is_named():
    said = "^backward returned None: end Forgetful.backward with return and a gradient for each "
    with pytest.raises(ValueError, match=said):
        gradient_curve(lambda x: Forgetful.apply(Passing.apply(x)))


@pytest.mark.parametrize(
    "fn, value, gradient",
    [
        (lambda x: 1001.5 + 0.5 * x, "1000 to 1003", "0.5"),
        (lambda x: 1e4 + 0.5 * x.round(), "9998.5 to 10001.5", "0"),
        (lambda x: 1 + 1e-6 * x, "0.999997 to 1.000003", "1e-06"),
        (lambda x: 1e8 + 0.1 * x, "99999999.7 to 100000000.3", "0.1"),
        (lambda x: x.sin() ** 2 + x.cos() ** 2, "1", "0"),
        (lambda x: 0 * x + 1234, "1234", "0"),
    ],
)
def test_describe_tells_the_ends_of_a_range_apart(fn, value, gradient):
    line = gradient_curve(fn).describe()
    assert line.startswith(f"value {value}, gradient {gradient}, slope ")
    assert " to " not in line.partition("slope ")[2], "what rounding makes is no range"
