"""Each operation against its formula, asked with an upstream gradient whose entries all differ."""

import hypothesis.strategies as st
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given

from helpers import functions
from helpers.functions import ceil_ste, clamp, clamp_ste, floor_ste, round_ste, sign_ste


def identity(x):
    return x


# name -> (operation, the function whose value it has, the function whose gradient it has)
STRAIGHT_THROUGH = {
    "round_ste": (round_ste, torch.round, identity),
    "floor_ste": (floor_ste, torch.floor, identity),
    "ceil_ste": (ceil_ste, torch.ceil, identity),
    "sign_ste": (sign_ste, torch.sign, F.hardtanh),
    "clamp_ste": (lambda x: clamp_ste(x, -1, 2), lambda x: x.clamp(-1, 2), identity),
}
OPERATIONS = {
    **{name: operation for name, (operation, _, _) in STRAIGHT_THROUGH.items()},
    "clamp": lambda x: clamp(x, -1, 2, bound_gradient=0.5),
}
numbers = st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=8)


def upstream_for(x):
    """No two entries alike, none of them 1, both signs."""
    return (torch.arange(x.numel(), dtype=x.dtype) - 1.5).reshape(x.shape) * 3


def gradient(fn, x, upstream):
    x = x.detach().clone().requires_grad_()
    return torch.autograd.grad(fn(x), x, upstream)[0]


@pytest.mark.parametrize("name", STRAIGHT_THROUGH)
@given(values=numbers)
def test_value_of_one_function_and_gradient_of_another(name, values):
    operation, value_of, gradient_of = STRAIGHT_THROUGH[name]
    x = torch.tensor(values)
    x = x[x.abs() != 1]  # hardtanh's own choice at its bounds is not ours
    torch.testing.assert_close(operation(x), value_of(x), rtol=0, atol=0)
    upstream = upstream_for(x)
    torch.testing.assert_close(
        gradient(operation, x, upstream), gradient(gradient_of, x, upstream), rtol=0, atol=0
    )


def test_sign_ste_passes_the_gradient_at_its_two_bounds():
    x, upstream = torch.tensor([-1.0, 1.0]), torch.tensor([3.0, -5.0])
    assert gradient(sign_ste, x, upstream).tolist() == [3.0, -5.0]
    beside = torch.tensor([-1.0, 1.0]).nextafter(torch.tensor([-2.0, 2.0]))
    assert gradient(sign_ste, beside, upstream).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("bound_gradient", [0, 0.5, 1])
def test_clamp_has_its_true_gradient_and_the_chosen_one_at_a_bound(bound_gradient):
    x = torch.tensor([-2.0, -1.0, 0.5, 2.0, 3.0])
    upstream = torch.tensor([3.0, -2.0, 5.0, 4.0, 7.0])
    got = gradient(lambda x: clamp(x, -1, 2, bound_gradient=bound_gradient), x, upstream)
    assert got.tolist() == [0.0, -2.0 * bound_gradient, 5.0, 4.0 * bound_gradient, 0.0]


@given(values=numbers, low=st.floats(-10, 10), width=st.floats(0, 10))
def test_clamp_agrees_with_torch_away_from_the_bounds(values, low, width):
    x = torch.tensor(values, dtype=torch.float64)
    high = low + width
    x = x[(x != low) & (x != high)]
    upstream = upstream_for(x)
    ours = lambda x: clamp(x, low, high, bound_gradient=0.5)  # noqa: E731
    theirs = lambda x: torch.clamp(x, low, high)  # noqa: E731
    assert torch.equal(ours(x), theirs(x))
    assert torch.equal(gradient(ours, x, upstream), gradient(theirs, x, upstream))


@pytest.mark.parametrize("bounds", [{"min": 0}, {"max": 1}])
def test_one_bound_is_enough(bounds):
    x, upstream = torch.tensor([-1.0, 0.5, 2.0]), torch.tensor([3.0, 4.0, 5.0])
    inside = [float(x.clamp(**bounds)[i] == x[i]) for i in range(3)]
    got = gradient(lambda x: clamp(x, **bounds, bound_gradient=0), x, upstream)
    assert got.tolist() == [3 * inside[0], 4 * inside[1], 5 * inside[2]]
    assert torch.equal(clamp_ste(x, **bounds), x.clamp(**bounds))


def test_infinity_is_inside_where_there_is_no_bound():
    x, upstream = torch.tensor([-torch.inf, torch.inf]), torch.tensor([3.0, 5.0])
    got = gradient(lambda x: clamp(x, min=0, bound_gradient=0), x, upstream)
    assert got.tolist() == [0.0, 5.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", OPERATIONS)
def test_dtype_and_shape_are_kept(name, dtype):
    for shape in ((), (0,), (2, 3)):
        x = torch.linspace(-3, 3, 6, dtype=dtype)[: max(1, torch.Size(shape).numel())]
        x = x[: torch.Size(shape).numel()].reshape(shape)
        y, grad = OPERATIONS[name](x), gradient(OPERATIONS[name], x, torch.ones_like(x))
        assert (y.dtype, y.shape, grad.dtype, grad.shape) == (dtype, x.shape, dtype, x.shape)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_transposed_input_gives_the_transposed_answer(name):
    x = torch.linspace(-3, 3, 6).reshape(2, 3)
    upstream = upstream_for(x)
    straight = gradient(OPERATIONS[name], x, upstream)
    turned = gradient(OPERATIONS[name], x.T, upstream.T)
    assert torch.equal(straight, turned.T)


@pytest.mark.parametrize("name", OPERATIONS)
def test_infinite_upstream_never_becomes_nan(name):
    x = torch.tensor([-9.0, -1.0, 0.3, 2.0, 9.0])
    assert not gradient(OPERATIONS[name], x, torch.full_like(x, torch.inf)).isnan().any()


@pytest.mark.parametrize("name", OPERATIONS)
def test_input_and_upstream_are_left_alone(name):
    x = torch.tensor([-9.0, -1.0, 0.3, 2.0, 9.0], requires_grad=True)
    upstream = upstream_for(x)
    x_before, upstream_before = x.detach().clone(), upstream.clone()
    torch.autograd.grad(OPERATIONS[name](x), x, upstream)
    assert torch.equal(x.detach(), x_before)
    assert torch.equal(upstream, upstream_before)


@pytest.mark.parametrize("name", OPERATIONS)
def test_second_derivative_of_the_backward(name):
    x = torch.tensor([-1.7, -0.4, 0.3, 1.6, 2.4], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(OPERATIONS[name], x)


@pytest.mark.parametrize("name", OPERATIONS)
def test_under_torch_func(name):
    x = torch.linspace(-3, 3, 6).reshape(2, 3)
    total = lambda row: OPERATIONS[name](row).sum()  # noqa: E731
    assert torch.equal(torch.func.vmap(OPERATIONS[name])(x), OPERATIONS[name](x))
    rows = torch.func.vmap(torch.func.grad(total))(x)
    assert torch.equal(rows, gradient(OPERATIONS[name], x, torch.ones_like(x)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_integers_and_other_types_are_refused(name):
    with pytest.raises(TypeError, match=rf"{name} needs a floating-point tensor, got torch.int64"):
        OPERATIONS[name](torch.tensor([1, 2]))
    with pytest.raises(TypeError, match=rf"{name} needs a floating-point tensor, got float"):
        OPERATIONS[name](0.5)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: clamp(x, 1, 0, bound_gradient=0), ValueError, "min=1 and max=0: swap them"),
        (lambda x: clamp_ste(x, 1, 0), ValueError, "min=1 and max=0: swap them"),
        (lambda x: clamp_ste(x, float("nan"), 0), ValueError, "NaN is no bound"),
        (lambda x: clamp_ste(x), ValueError, "needs min, max or both, got neither"),
        (lambda x: clamp_ste(x, x), TypeError, "a number or None as min, got Tensor"),
        (lambda x: clamp_ste(x, 0, "1"), TypeError, "a number or None as max, got str"),
        (lambda x: clamp(x, 0, 1, bound_gradient=2), ValueError, "0, 0.5 or 1, got 2"),
        (lambda x: clamp(x, 0, 1), TypeError, "bound_gradient"),
    ],
)
def test_bad_bounds_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.zeros(2))


def test_every_function_has_its_class_beside_it():
    for name in ("round_ste", "floor_ste", "ceil_ste", "sign_ste", "clamp_ste", "clamp"):
        class_name = "".join(part.capitalize() for part in name.split("_")).replace("Ste", "STE")
        assert issubclass(getattr(functions, class_name), torch.autograd.Function)
