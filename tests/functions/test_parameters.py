"""The parameters of the operators: bounds, bins, step sizes, dimensions, surrogates."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from test_formulas import each_operator, gradient, numbers, same, upstream_for

from helpers import functions
from helpers.functions import (
    SURROGATES,
    argmax_ste,
    clamp,
    clamp_ste,
    fake_quantize,
    lsq_quantize,
    scale_gradient,
    sign_ste,
    step,
    value_with_gradient_of,
)
from helpers.functions.arithmetic import sum_of_products
from helpers.functions.quantizing import fake_quantize_proxy, lsq_quantize_proxy
from tests.functions.operators import OPERATORS

# torch's own, when it first differentiates forwards
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script")


def test_a_product_is_summed_over_all_of_a_large_tensor():
    a, b = torch.arange(300_000.0) % 7, torch.arange(300_000.0) % 2
    assert sum_of_products(a, b, torch.Size([1])).item() == (a * b).double().sum()


@settings(max_examples=25)
@given(values=numbers, low=st.floats(-10, 10), width=st.floats(0, 10))
@pytest.mark.parametrize("bound_gradient", [0, 0.5, 1])
def test_clamp_at_any_bounds(bound_gradient, values, low, width):
    high = low + width
    x = torch.tensor([*values, low, high])
    beside = [x.nextafter(torch.full_like(x, side)) for side in (-torch.inf, torch.inf)]
    x = torch.cat([x, *beside])
    inner = (x > torch.tensor(low)) & (x < torch.tensor(high))
    at_bound = (x == torch.tensor(low)) | (x == torch.tensor(high))
    want = torch.where(at_bound, bound_gradient, inner.float())
    got = gradient(
        lambda x: clamp(x, low, high, bound_gradient=bound_gradient), x, torch.ones_like(x)
    )
    assert torch.equal(got, want)
    assert torch.equal(clamp(x, low, high, bound_gradient=bound_gradient), x.clamp(low, high))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_a_bound_is_where_the_dtype_puts_it(dtype):
    x = torch.tensor([0.1, 0.9], dtype=dtype)  # both are rounded
    for bound_gradient in (0, 0.5, 1):
        got = gradient(
            lambda x, b=bound_gradient: clamp(x, 0.1, 0.9, bound_gradient=b), x, torch.ones_like(x)
        )
        assert got.tolist() == [bound_gradient, bound_gradient]


@pytest.mark.parametrize("bound_gradient", [0, 0.5, 1])
@pytest.mark.parametrize(
    "bounds, value, slopes",
    [({"min": 0}, [0, 0.5, torch.inf], [0, 1, 1]), ({"max": 1}, [-torch.inf, 0.5, 1], [1, 1, 0])],
)
def test_one_bound_is_enough_and_infinity_is_inside_where_there_is_none(
    bounds, value, slopes, bound_gradient
):
    x, upstream = torch.tensor([-torch.inf, 0.5, torch.inf]), torch.tensor([3.0, 4.0, 5.0])
    want = upstream * torch.tensor(slopes)
    one_sided = lambda x: clamp(x, **bounds, bound_gradient=bound_gradient)  # noqa: E731
    assert one_sided(x).tolist() == clamp_ste(x, **bounds).tolist() == value
    assert torch.equal(gradient(one_sided, x, upstream), want)
    assert torch.equal(torch.func.jvp(one_sided, (x,), (upstream,))[1], want)


@given(
    scale=st.floats(1e-3, 1e3),
    zero_point=st.integers(-8, 7),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_fake_quantize_has_its_gradient_in_the_whole_of_the_outermost_bins(
    scale, zero_point, dtype
):
    low, high = -8, 7
    ends = torch.tensor([low - 0.5, high + 0.5], dtype=dtype).sub(zero_point) * scale
    step_out = torch.arange(-6, 7, dtype=dtype) * torch.finfo(dtype).eps
    x = (ends[:, None] * (1 + step_out)).flatten()  # a few neighbours of both ends
    bins = (x / scale).round() + zero_point
    inside = (low <= bins) & (bins <= high)
    assert inside.any() and not inside.all()
    one_scale = lambda x: fake_quantize(x, scale, zero_point, low, high)  # noqa: E731
    channels = lambda x: fake_quantize(  # noqa: E731
        x, torch.tensor([scale], dtype=dtype), torch.tensor([zero_point]), low, high
    )
    assert torch.equal(gradient(one_scale, x, torch.ones_like(x)), inside.to(dtype))
    same(gradient(channels, x, torch.ones_like(x)), inside.to(dtype), torch.float32)


def test_fake_quantize_agrees_with_torch_and_has_each_channel_its_own_scale():
    x = torch.linspace(-3, 3, 24).reshape(2, 12)
    scale, zero_point = torch.tensor([0.1, 0.25]), torch.tensor([1, -2], dtype=torch.int32)
    want = torch.fake_quantize_per_channel_affine(x, scale, zero_point, 0, -8, 7)
    got = fake_quantize(x, scale[:, None], zero_point[:, None], -8, 7)
    torch.testing.assert_close(got, want)
    for row in range(2):
        alone = fake_quantize(x[row], scale[row].item(), zero_point[row].item(), -8, 7)
        torch.testing.assert_close(got[row], alone)


def lsq_by_formula(x, step_size, low, high, upstream):
    """Equations 1 to 5 of the paper, in float64, with a gradient for each number of x."""
    bins = x.double() / step_size.double()
    inside = (low < bins) & (bins < high)
    slope = torch.where(inside, bins.round() - bins, bins.clamp(low, high))
    share = x.numel() // step_size.numel()
    of_step = (upstream * slope).sum_to_size(step_size.shape) / (share * high) ** 0.5
    return torch.where(inside, upstream.double(), 0), of_step


@pytest.mark.slow
@given(values=st.lists(st.floats(-4, 4, width=32), min_size=6, max_size=6))
@pytest.mark.parametrize("shape", [(), (1,), (2, 1), (2, 3), (1, 3)])
def test_lsq_has_the_gradients_of_the_paper(shape, values):
    x, low, high = torch.tensor(values, dtype=torch.float64).reshape(2, 3), -4, 3
    step_size = torch.linspace(0.3, 0.6, torch.Size(shape).numel(), dtype=torch.float64)
    step_size = step_size.reshape(shape).requires_grad_()
    upstream, leaf = upstream_for(x), x.clone().requires_grad_()
    got = torch.autograd.grad(lsq_quantize(leaf, step_size, low, high), (leaf, step_size), upstream)
    want = lsq_by_formula(x, step_size.detach(), low, high, upstream)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("scale", [0.1, 0.0937])
def test_fake_quantize_counts_its_bins_in_float32_where_x_has_half_the_precision(scale, dtype):
    x = torch.linspace(-20, 20, 4001).to(dtype)
    bins = (x.float() / scale).round()
    want = (bins.clamp(-128, 127) * scale).to(dtype)
    inside = ((bins >= -128) & (bins <= 127)).to(dtype)
    for quantize in (
        lambda x: fake_quantize(x, scale),
        lambda x: fake_quantize(x, torch.tensor(scale)),
        lambda x: fake_quantize(x, torch.full((1,), scale)),
    ):
        assert torch.equal(quantize(x), want)
        assert torch.equal(gradient(quantize, x, torch.ones_like(x)), inside)
    proxy = lambda x: fake_quantize_proxy(x, scale, -128, 127)  # noqa: E731
    assert torch.equal(gradient(proxy, x, torch.ones_like(x)), inside)


def test_lsq_counts_its_bins_in_float32_where_x_has_half_the_precision():
    x = torch.linspace(-20, 20, 4001)
    step_size = torch.tensor(0.0937, requires_grad=True)
    for dtype in (torch.bfloat16, torch.float16):
        half = x.to(dtype)
        y = lsq_quantize(half, step_size, -128, 127)
        (got,) = torch.autograd.grad(y, step_size, torch.ones_like(y))
        _, want = lsq_by_formula(half, step_size.detach(), -128, 127, torch.ones_like(half))
        assert (y.dtype, got.dtype) == (dtype, torch.float32)
        bins = (half.float() / step_size.detach()).clamp(-128, 127)
        assert torch.equal(y, (bins.round() * step_size.detach()).to(dtype))
        scale = (len(x) * 127) ** -0.5
        proxy = lsq_quantize_proxy(half, step_size, -128, 127, scale)
        assert torch.equal(proxy, y)
        torch.testing.assert_close(got, want.float(), rtol=1e-3, atol=1e-3)


def test_lsq_in_forward_mode_is_the_transpose_of_backward():
    x, step_size = torch.linspace(-2, 2, 7), torch.tensor([0.3])
    quantize = lambda x, s: lsq_quantize(x, s, -4, 3)  # noqa: E731
    backward = torch.func.jacrev(quantize, argnums=(0, 1))(x, step_size)
    forward = torch.func.jacfwd(quantize, argnums=(0, 1))(x, step_size)
    torch.testing.assert_close(forward, backward)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_argmax_along_any_dimension(dim):
    x = torch.tensor([3.0, -1.0, 0.5, 3.0, 2.0, 0.0, -2.0, 1.0, 1.0, 0.25, -0.5, 2.5])
    x = x.reshape(2, 3, 2).double()
    upstream = upstream_for(x)
    choose = lambda x, dim=dim: argmax_ste(x, dim, temperature=0.5)  # noqa: E731
    last = lambda x: choose(x.movedim(dim, -1), -1).movedim(-1, dim)  # noqa: E731
    assert torch.equal(choose(x), last(x))
    assert torch.equal(choose(x).sum(dim), torch.ones_like(x.sum(dim)))
    same(gradient(choose, x, upstream), gradient(last, x, upstream), x.dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_argmax_computes_its_softmax_in_float32(dtype):
    x = torch.tensor([300.0, 299.0, 298.0], dtype=dtype)
    upstream = torch.tensor([3.0, -5.0, 4.0], dtype=dtype)
    choose = lambda x: argmax_ste(x, temperature=1e-3)  # noqa: E731, 300 / 0.001 is infinite
    assert gradient(choose, x, upstream).isfinite().all()
    x = torch.tensor([1.0, 0.75, -2.0], dtype=dtype)
    choose = lambda x: argmax_ste(x, temperature=3.0)  # noqa: E731
    want = gradient(choose, x.double(), upstream.double()).to(dtype)
    assert torch.equal(gradient(choose, x, upstream), want)


@pytest.mark.parametrize("surrogate", SURROGATES)
@settings(max_examples=25)
@given(width=st.floats(0.01, 100))
def test_a_surrogate_is_one_at_the_step_and_stretched_by_its_width(surrogate, width):
    u = torch.tensor([0.0, 0.2, 0.9], dtype=torch.float64)
    ones = torch.ones_like(u)
    unit = gradient(lambda x: step(x, surrogate), u, ones)
    wide = gradient(lambda x: step(x, surrogate, width), u * width, ones)
    assert unit[0] == 1
    torch.testing.assert_close(wide, unit)


REFUSED = {  # what is called with an x of two zeros, and what the message has to name
    ValueError: [
        (lambda x: clamp(x, 1, 0, bound_gradient=0), "min=1 and max=0"),
        (lambda x: clamp_ste(x, float("nan"), 0), "NaN"),
        (lambda x: clamp_ste(x), "min, max or both, got neither"),
        (lambda x: clamp(x, 0, 1, bound_gradient=2), "0, 0.5 or 1, got 2"),
        (lambda x: step(x, "relu"), "atan, sigmoid, fast_sigmoid, .*; got 'relu'"),
        (lambda x: step(x, width=0), "width, .*, got 0"),
        (lambda x: fake_quantize(x, 0), "positive scale .*, got 0"),
        (lambda x: fake_quantize(x, 1e39), "float32 can hold, got 1e.39"),
        (lambda x: fake_quantize(x, torch.tensor([0.5, 0.0]).half()), "scale everywhere, got ten"),
        (lambda x: fake_quantize(x, torch.ones(3)), r"scale that broadcasts .*got \(3,\) .*\(2,\)"),
        (lambda x: fake_quantize(x, torch.ones(1, requires_grad=True)), "scale: use lsq_quantize"),
        (lambda x: fake_quantize(x, 1, 200), "from -128 to 127, got 200"),
        (lambda x: fake_quantize(x, 1, 0, 7, 7), "quant_min < quant_max, got 7 and 7"),
        (lambda x: lsq_quantize(x, x, -4, 0), "positive quant_max, got 0"),
        (lambda x: lsq_quantize(x, torch.ones(3)), "step_size that broadcasts to x"),
        (lambda x: argmax_ste(x, temperature=0), "temperature, .*, got 0"),
        (lambda x: scale_gradient(x, torch.inf), "factor, got inf"),
        (lambda x: value_with_gradient_of(x, x.double()), r"\(2,\) .*float32 .*\(2,\) .*float64"),
    ],
    TypeError: [
        (lambda x: clamp_ste(x, x), "clamp_ste .*number as min, got Tensor"),
        (lambda x: clamp(x, 0, 1), "bound_gradient"),
        (lambda x: fake_quantize(x, torch.ones(2).long()), "scale needs a floating-.*torch.int64"),
        (lambda x: fake_quantize(x, 1, 0.5), "integer as zero_point, got 0.5"),
        (lambda x: fake_quantize(x, 1, torch.tensor(0.5)), "zero_point, got torch.float32"),
        (lambda x: lsq_quantize(x, 0.1), "step_size needs a floating-point tensor"),
        (lambda x: argmax_ste(x, 0.5), "integer as dim, got 0.5"),
        (lambda x: value_with_gradient_of(x > 0, x), "value_with_gradient_of .*got torch.bool"),
    ],
    IndexError: [(lambda x: argmax_ste(x, 1), "Dimension out of range")],
}


@pytest.mark.parametrize(
    "error, call, message", [(error, *each) for error, all_ in REFUSED.items() for each in all_]
)
def test_bad_parameters_are_refused(error, call, message):
    with pytest.raises(error, match=message):
        call(torch.zeros(2))


@each_operator
def test_integers_and_other_types_are_refused(name):
    if name == "value_with_gradient_of":
        return
    function = OPERATORS[name].function
    start = name.partition(",")[0]
    with pytest.raises(TypeError, match=rf"{start} needs a floating-point tensor, got torch.int64"):
        function(torch.tensor([1, 2]))
    if "channel" not in name:
        with pytest.raises(TypeError, match=rf"{start} needs a floating-point tensor, got float"):
            function(0.5)


def test_every_operator_has_a_table_row_and_a_class():
    called = {name.partition(",")[0] for name in OPERATORS}
    public = {name for name in functions.__all__ if name[0].islower()} - {"apply_anywhere"}
    assert called == public
    classes = {name for name in functions.__all__ if name.endswith("STE")}
    assert {name for name in public if name.endswith("_ste")} == {
        name.removesuffix("STE").lower() + "_ste" for name in classes
    }
    assert sign_ste(torch.tensor(-2.0)) == -1
