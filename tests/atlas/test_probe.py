"""A value and a gradient measured at one number, on functions whose slopes are known."""

from dataclasses import replace
from math import inf, isnan, nan

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograd_surprises.atlas import Operation, Probe, measure
from autograd_surprises.atlas.measuring import gradient_function, value_function
from autograd_surprises.atlas.measuring_points import points_to_measure
from autograd_surprises.atlas.point import Point
from autograd_surprises.atlas.probe import close, probe_at, rounded


def at(fn, x):
    point = torch.tensor([x], dtype=torch.float64)
    return probe_at(value_function(fn), gradient_function(fn), point)


class Lies(torch.autograd.Function):
    """x squared, whose backward is that of 3 x."""

    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output


def bent(left, right, step=0.0):
    """Two lines that meet at 0.75, or jump there."""
    return lambda x: torch.where(x < 0.75, left * (x - 0.75), right * (x - 0.75) + step)


@pytest.mark.parametrize("left, right", [(-2.0, 0.5), (0.5, -2.0), (1.0, 1.0)])
@pytest.mark.parametrize("step", [0.0, 1.5, -0.25])
def test_both_sides_of_a_kink_and_of_a_jump_are_found(left, right, step):
    found = at(bent(left, right, step), 0.75)
    numbers = (found.left, found.right, found.below, found.above)
    assert numbers == pytest.approx((left, right, 0, step), abs=1e-6)
    assert found.kind == ("jump" if step else "plain" if left == right else "kink")


@pytest.mark.parametrize("x", [-4.0, 1.4, 1.6])
def test_a_wrong_gradient_is_not_the_slope(x):
    assert at(Lies.apply, x).kind == "not the slope"


@pytest.mark.parametrize(
    "fn, x, expected",
    [
        (torch.sqrt, 0.0, "infinite"),
        (torch.log, -1.0, "NaN value"),
        (lambda x: torch.sqrt(x * x), 0.0, "NaN gradient"),
        (torch.relu, 0.0, "kink"),
        (torch.sign, 0.0, "jump"),
        (torch.sqrt, -1.0, "plain"),  # both are NaN
        (torch.nn.functional.silu, inf, "NaN gradient"),
        (torch.tanh, inf, "plain"),
        (torch.abs, nan, "NaN value"),
        (lambda x: x.detach() + 0 * x, 1.0, "not the slope"),
        (lambda x: (x.round() - x).detach() + x, 0.5, "not the slope"),
    ],
)
def test_kinds(fn, x, expected):
    assert at(fn, x).kind == expected


PICKED = {"left": 1.0, "right": 4.0, "mean": 2.5, "0": 0.0, "between": 2.0, "outside": 9.0}


@pytest.mark.parametrize("word, gradient", PICKED.items())
def test_the_number_picked_at_a_kink_has_a_name(word, gradient):
    found = Probe(value=0, gradient=gradient, left=1.0, right=4.0, below=0, above=0)
    assert word in found.subgradient.split()


def test_a_neighbour_is_judged_by_its_own_side():
    at_0 = Probe(value=0, gradient=-1, left=-1, right=1, below=0, above=0)
    assert at_0.kind == "kink"
    assert replace(at_0, side="<").kind == "plain"
    assert replace(at_0, side=">").kind == "not the slope"


def test_a_point_is_read_from_its_name():
    assert Point("-0").tensor().signbit() and not Point("0").tensor().signbit()
    assert Point("<0").tensor() == -torch.finfo(torch.float64).tiny
    assert Point(">0").tensor(torch.float32) == torch.finfo(torch.float32).tiny
    assert 1 < Point(">1").tensor() < 1 + 1e-15
    assert Point("<-1").tensor() < -1
    assert Point("-inf").tensor() == -inf and Point("nan").tensor().isnan()
    assert (Point(">-0.5").side, Point(">-0.5").number) == (">", -0.5)
    assert (Point("-0.5").side, Point("-0.5").middle) == ("", "-0.5")


def test_points_are_sorted_along_the_number_line():
    names = ["-inf", "<-1", "-1", ">-1", "<0", "-0", "0", ">0", "<1", "1", ">1", "inf", "nan"]
    for shuffled in (reversed(names), sorted(names)):
        assert sorted(map(Point, shuffled), key=lambda point: point.order) == names


def test_kinks_and_jumps_become_points():
    fn = Operation("F.hardtanh(x) + torch.floor(x / 4)")
    found = points_to_measure(value_function(fn), gradient_function(fn))
    assert {"<-1", "-1", ">-1", "1", "<4", "4", ">4", "-4", "0", "-0", "nan", "inf"} <= {*found}
    assert found.index("<1") < found.index("1") < found.index(">1") < found.index("inf")


def test_a_kink_is_found_where_the_gradient_does_not_jump():
    assert {"<1", "1", ">1"} <= {*measure(Operation("x + torch.relu(x - 1).detach()")).probes}


def test_an_operation_without_derivative_says_why():
    raises = measure(Operation("torch.heaviside(x, half)"))
    assert raises.backward == "" and "heaviside is not implemented" in raises.error
    silent = measure(Operation("torch.floor(x.detach())"))
    assert silent.error == "no error, but the result has no grad_fn"
    assert raises.classes == {"no derivative": []}


def test_an_operation_that_refuses_some_numbers_is_measured_at_the_others():
    probes = measure(Operation("F.binary_cross_entropy(x, one, reduction='none')")).probes
    assert isnan(probes["1.7"].value) and isnan(probes["1.7"].gradient)
    assert probes["0.3"].gradient == rounded(-1 / 0.3)


def test_what_is_not_elementwise_is_refused():
    for call in ("torch.softmax(x, 0)", "torch.sum(x)", "x.mean().expand(len(x))"):
        with pytest.raises(ValueError, match="is not elementwise"):
            measure(Operation(call))
    with pytest.raises(ValueError, match="torch.abs is not elementwise"):
        measure(Operation("torch.abs"))


def test_numbers_that_are_not_finite_are_close_to_themselves_only():
    assert close(inf, inf) and close(-inf, -inf) and close(nan, nan)
    assert not close(inf, -inf) and not close(inf, 5.0) and not close(nan, inf)
    assert rounded(1.7976931348623157e308) == 1.7976931348623157e308


def test_a_gradient_is_judged_by_the_side_that_has_the_value():
    step = Probe(value=1, gradient=3, left=2, right=3, below=0, above=1)
    assert step.kind == "jump"
    assert replace(step, gradient=2).kind == "not the slope"
    end = Probe(value=1, gradient=0, left=nan, right=0, below=nan, above=0)
    assert end.kind == "jump"


def test_a_finite_gradient_where_the_slope_is_infinite():
    steep = Probe(value=0, gradient=1e9, left=nan, right=inf, below=nan, above=nan)
    assert steep.kind == "not the slope" and replace(steep, side=">").kind == "plain"
    flat = Probe(value=0, gradient=inf, left=1, right=1, below=0, above=0)
    assert flat.kind == "not the slope"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounded_numbers_are_close_and_have_five_digits(x):
    assert close(rounded(x), x) or abs(x) < 1e-300
    assert rounded(rounded(x)) == rounded(x)
