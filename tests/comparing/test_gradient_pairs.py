"""What the gradients of two runs say: the same, only rounding, another one, or nothing."""

import pytest
import torch

from autograd_surprises.comparing.gradient_pairs import judged

RIGHT, NAN = torch.tensor([1.0, -2.0]), torch.tensor([1.0, torch.nan])


def found_in(a, b, again=None, exact=(RIGHT, RIGHT), nearby=None):
    pairs = (a, b), (a if again is None else again, b), exact, nearby or (a, b)
    once, again, exact, nearby = (pair and tuple({"w": g} for g in pair) for pair in pairs)
    return judged(once, again, exact, "it has no float64", lambda: nearby)


@pytest.mark.parametrize("a", [RIGHT, NAN, None])
def test_the_same_bit_for_bit(a):
    found = found_in(a, a, exact=None)
    assert found.status == "same" and "bit for bit" in found.sentence and not found.rows


def test_only_rounding():
    found = found_in(RIGHT, RIGHT * (1 + 1e-6))
    assert found.status == "same" and "up to rounding" in found.sentence


def test_one_that_loses_its_digits_is_not_called_the_same():
    found = found_in(RIGHT, RIGHT * 1.01)
    assert (found.status, found.cause) == ("differ", "rounding")


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
def test_a_fault_of_float32_alone(size):
    right = size * RIGHT
    exact = right.double() * (1 + 1e-7)
    found = found_in(right, right / 2, exact=(exact, exact))
    assert (found.status, found.cause) == ("differ", "")
    assert "in a" in found.rows[0][1] and "in float64 0" in found.rows[0][1]


@pytest.mark.parametrize("b", [RIGHT * (1 + 1e-6), NAN, None])
def test_another_gradient(b):
    found = found_in(RIGHT, b, exact=(RIGHT, RIGHT * 1.1 if b is None else b))
    assert (found.status, found.cause) == ("differ", "")


def test_rounding_errors_in_float32_hide_no_difference_in_float64():
    found = found_in(RIGHT, RIGHT * 1.002, exact=(RIGHT * 1.01, RIGHT * 1.012))
    assert found.status == "differ"


def test_beside_nan_in_both_another_number_shows():
    found = found_in(NAN, NAN * 2, exact=(NAN, NAN))
    assert found.status == "differ" and "1 in a, 2 in b" in found.rows[-1][1]


def test_a_kink():
    found = found_in(RIGHT, 2 * RIGHT, exact=(RIGHT, 2 * RIGHT), nearby=(RIGHT, RIGHT))
    assert (found.status, found.cause) == ("differ", "kink")


@pytest.mark.parametrize(
    "facts, part",
    [
        ({"b": RIGHT, "again": RIGHT * 1.1}, "run a gives other gradients each time"),
        ({"b": RIGHT * (1 + 1e-5), "exact": None}, "it has no float64"),
        ({"b": RIGHT * 1.1, "exact": (RIGHT * 1.2, RIGHT * 1.2)}, "in float64 the"),
        ({"b": RIGHT * 1.01, "exact": (RIGHT * 1.02, RIGHT * 1.02)}, "in float64 the"),
    ],
)
def test_what_cannot_be_told(facts, part):
    found = found_in(RIGHT, **facts)
    assert found.status == "undecided" and part in found.sentence


def test_a_large_difference_is_one_without_float64_too():
    assert found_in(RIGHT, RIGHT * 1.1, exact=None).status == "differ"


def test_random_numbers_that_float64_draws_anew_hide_nothing_where_both_are_the_same():
    found = found_in(RIGHT, RIGHT * (1 + 1e-7), exact=(RIGHT * 1.5, RIGHT * 1.5))
    assert found.status == "same"


def test_a_small_gradient_that_is_lost_is_no_rounding():
    a = {"w": 1e4 * RIGHT, "small": RIGHT}
    b, exact = {**a, "small": torch.zeros(2)}, {name: g.double() for name, g in a.items()}
    found = judged((a, b), (a, b), (exact, exact), "", lambda: (a, b))
    assert found.status == "differ" and found.sentence.startswith("small is the first")


def test_what_is_nan_in_one_is_no_kink():
    found = found_in(RIGHT, NAN, exact=(RIGHT, RIGHT), nearby=(RIGHT, 3 * RIGHT))
    assert (found.status, found.cause) == ("differ", "")
