"""First and second derivatives as numbers, against mathematics."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lessons.backward_needs_a_gradient.drawings import vector_jacobian_product
from lessons.derivatives import derivatives, kind_of_point

NUMBERS = st.lists(st.floats(-3, 3), min_size=1, max_size=5)


@given(NUMBERS, st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_derivatives_of_a_polynomial(x, coefficients):
    x, (a, b, c, d) = torch.tensor(x, dtype=torch.float64), coefficients
    found = derivatives(lambda x: a * x**3 + b * x**2 + c * x + d, x, order=3)
    expected = (
        a * x**3 + b * x**2 + c * x + d,
        3 * a * x**2 + 2 * b * x + c,
        6 * a * x + 2 * b,
        torch.full_like(x, 6 * a),
    )
    for mine, right in zip(found, expected, strict=True):
        assert torch.allclose(mine, right, atol=1e-9)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 2)])
def test_a_constant_derivative_has_derivative_zero(shape):
    x = torch.full(shape, 2.0)
    value, slope, curvature = derivatives(lambda x: 3 * x, x)
    assert torch.equal(value, 3 * x)
    assert torch.equal(slope, torch.full(shape, 3.0))
    assert torch.equal(curvature, torch.zeros(shape))


def test_derivatives_refuse_what_is_not_elementwise_or_connected():
    with pytest.raises(ValueError, match=r"made torch.Size\(\[\]\) of torch.Size\(\[2\]\)"):
        derivatives(torch.sum, torch.ones(2))
    with pytest.raises(ValueError, match="made float of torch.Size"):
        derivatives(lambda x: x.item(), torch.ones(()))
    for ask in (derivatives, lambda fn, x: vector_jacobian_product(fn, x, torch.ones(2))):
        with pytest.raises(ValueError, match="not connected to x"):
            ask(torch.detach, torch.ones(2))


def test_second_derivative_of_abs_is_a_real_zero():
    assert derivatives(torch.abs, torch.ones(2))[2].numpy().tolist() == [0, 0]


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3), st.floats(-2, 2), st.floats(-2, 2))
def test_vector_jacobian_product_is_v_times_the_jacobian(v, a, b):
    def fn(x):
        return torch.stack([x[0] * x[1], x[0] ** 2, x[1] - x[0]])

    v = torch.tensor(v, dtype=torch.float64)
    jacobian = torch.tensor([[b, a], [2 * a, 0.0], [-1.0, 1.0]], dtype=torch.float64)
    product = vector_jacobian_product(fn, torch.tensor([a, b], dtype=torch.float64), v)
    assert torch.allclose(product, v @ jacobian)


@pytest.mark.parametrize(
    "fn, kind",
    [
        (lambda x: x[0] ** 2 + 3 * x[1] ** 2, "a minimum"),
        (lambda x: -(x[0] ** 2) - 3 * x[1] ** 2, "a maximum"),
        (lambda x: x[0] ** 2 - 3 * x[1] ** 2, "a saddle point"),
        (lambda x: x[0] ** 2 + 0 * x[1], "a flat place"),
        (lambda x: x[0] ** 4 + x[1] ** 4, "a flat place"),
        (lambda x: x[0] + x[1] ** 2, "still moving"),
        (lambda x: x[0].log() + x[1] ** 2, "still moving"),
        (lambda x: (x**2).sum().sqrt(), "still moving"),  # its gradient at 0 is NaN
        (lambda x: (x.abs() ** 1.5).sum(), "a flat place"),  # its Hessian at 0 is not finite
        (lambda x: 1e-4 * ((x - 1) ** 2).sum(), "still moving"),
        (lambda x: 1e6 * ((x - 1e-4) ** 2).sum(), "a minimum"),
    ],
)
def test_kind_of_point(fn, kind):
    assert kind_of_point(fn, torch.zeros(2)) == kind


def test_a_point_that_is_not_finite_is_no_rest():
    assert kind_of_point(lambda x: 0 * x.sum(), torch.tensor([torch.nan, 0.0])) == "still moving"
