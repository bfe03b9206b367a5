"""Each operator under torch.func, forward mode, torch.compile and autocast, against its formula."""

import pytest
import torch
from packaging.version import Version
from torch.autograd import forward_ad
from torch.func import grad, jvp, vjp, vmap

from autograd_surprises import report_card
from helpers.functions import fake_quantize, lsq_quantize
from tests.functions.operators import OPERATORS
from tests.functions.test_formulas import (
    each_elementwise,
    expected_gradient,
    same,
    upstream_for,
)

# torch's own, when it first differentiates forwards, and when Inductor starts
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script"),
    pytest.mark.filterwarnings("ignore:Skipping serialization of skipfiles"),
]
each_operator = pytest.mark.parametrize("name", OPERATORS)
X = torch.tensor([[-2.0, -1.0, 0.3, 0.5], [1.0, 0.6, 5.0, -0.25], [0.0, 2.5, -0.7, 1.5]])
UPSTREAM = upstream_for(X)


def expected_tangent(name, x, tangent):
    return OPERATORS[name].times(x.double(), tangent.double()).to(x.dtype)


# Clamping is not linear, and these are not asked where one number reaches others. All other rows
# work, of every operator.
OTHERS = {
    "clip_gradient": {"linear in grad_output": "silently wrong"},
    "argmax_ste": dict.fromkeys(
        ["inf upstream", "large x", "inf, NaN and -0", "empty", "0-d"], "not applicable"
    ),
}


@each_operator
def test_report_card(name):
    """28 questions, each with its own expectation; the proxy is checked in test_formulas."""
    card = report_card(OPERATORS[name].function, X, like=OPERATORS[name].proxy)
    others = {row.name: row.status for row in card.rows if row.status not in ("works", "skipped")}
    assert others == OTHERS.get(name, {}), str(card)


@each_elementwise  # else the inner vmap would see rows of one number
def test_vmap_of_vmap(name):
    function = OPERATORS[name].function
    assert torch.equal(vmap(vmap(function, in_dims=0), in_dims=1, out_dims=1)(X), function(X))


@each_operator
def test_what_has_left_a_transform_still_has_its_gradient(name):
    leaf, left = X.clone().requires_grad_(), []
    grad(lambda one: (left.append(one * leaf), one.sum())[1])(torch.ones(()))
    (got,) = torch.autograd.grad(OPERATORS[name].function(left[0]), leaf, UPSTREAM)
    same(got, expected_gradient(OPERATORS[name], X, UPSTREAM), X.dtype)


@each_operator
def test_backward_through_vmap_and_many_upstreams_at_once(name):
    function, leaf = OPERATORS[name].function, X.clone().requires_grad_()
    want = expected_gradient(OPERATORS[name], X, UPSTREAM)
    (slopes,) = torch.autograd.grad(vmap(function)(leaf), leaf, UPSTREAM)
    same(slopes, want, X.dtype)
    both = torch.stack([UPSTREAM, -UPSTREAM])
    (slopes,) = torch.autograd.grad(function(leaf), leaf, both, is_grads_batched=True)
    same(slopes, torch.stack([want, -want]), X.dtype)


def test_vmap_over_step_sizes_and_scales_alone():
    scales = torch.tensor([0.25, 0.5, 0.75])
    for quantize in (
        lambda scale: lsq_quantize(X, scale, -4, 3),
        lambda scale: fake_quantize(X, scale, 1, -4, 3),
    ):
        want = torch.stack([quantize(scale) for scale in scales])
        assert torch.equal(vmap(quantize)(scales), want)
    slope = grad(lambda scale: (lsq_quantize(X, scale, -4, 3) * UPSTREAM).sum())
    same(vmap(slope)(scales), torch.stack([slope(scale) for scale in scales]), X.dtype)


@each_operator
def test_forward_mode(name):
    want = expected_tangent(name, X, UPSTREAM)
    y, tangent = jvp(OPERATORS[name].function, (X,), (UPSTREAM,))
    assert torch.equal(y, OPERATORS[name].function(X))
    same(tangent, want, X.dtype)
    with forward_ad.dual_level():
        dual = OPERATORS[name].function(forward_ad.make_dual(X, UPSTREAM))
        same(forward_ad.unpack_dual(dual).tangent, want, X.dtype)
        dual = vmap(OPERATORS[name].function)(forward_ad.make_dual(X, UPSTREAM))
        same(forward_ad.unpack_dual(dual).tangent, want, X.dtype)
    rows = vmap(lambda x, t: jvp(OPERATORS[name].function, (x,), (t,))[1])(X, UPSTREAM)
    same(rows, want, X.dtype)
    same(jvp(vmap(OPERATORS[name].function), (X,), (UPSTREAM,))[1], want, X.dtype)


@each_operator
def test_an_upstream_with_a_tangent(name):
    leaf, upstream = X.clone().requires_grad_(), UPSTREAM / 8  # clip_gradient clips none of them
    y = OPERATORS[name].function(leaf)  # before forward mode begins, so by the Function
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(upstream, torch.ones_like(X))
        (got,) = torch.autograd.grad(y, leaf, dual)
        value, tangent = forward_ad.unpack_dual(got)
    same(value, expected_gradient(OPERATORS[name], X, upstream), X.dtype)
    same(tangent, expected_gradient(OPERATORS[name], X, torch.ones_like(X)), X.dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@each_operator
def test_forward_mode_in_half_precision(name, dtype):
    x = X.to(dtype)
    y, tangent = jvp(OPERATORS[name].function, (x,), (UPSTREAM.to(dtype),))
    assert torch.equal(y, OPERATORS[name].function(x))
    same(tangent, expected_tangent(name, x, UPSTREAM.to(dtype)), dtype)


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
@each_operator
def test_linearize(name):
    """It drops what is written into y.detach(). The tangent of a product needs the right y."""
    product = lambda x: OPERATORS[name].function(x) * x  # noqa: E731
    y, forward = torch.func.linearize(product, X)
    assert torch.equal(y, product(X))
    same(forward(UPSTREAM), jvp(product, (X,), (UPSTREAM,))[1], X.dtype)


# One compilation for all operators, each at its own row, is several times as fast as one for each.
# Inductor takes the longest and sees the same operations whatever the transform: one test has it.
CLIP_COMPILES = Version(torch.__version__) >= Version("2.13")
NAMES = [name for name in OPERATORS if name != "clip_gradient" or CLIP_COMPILES]
ROWS = torch.stack([X.flatten() for _ in NAMES])
UPSTREAMS = upstream_for(ROWS)


def all_operators(rows):
    return torch.stack([OPERATORS[n].function(x) for n, x in zip(NAMES, rows, strict=True)])


def all_gradients(upstreams=UPSTREAMS):
    return torch.stack(
        [expected_gradient(OPERATORS[n], ROWS[0], g) for n, g in zip(NAMES, upstreams, strict=True)]
    )


@pytest.fixture
def compiled():
    torch.compiler.reset()
    yield lambda function, backend: torch.compile(function, fullgraph=True, backend=backend)
    torch.compiler.reset()


def same_rows(got, want):
    for name, row, wanted in zip(NAMES, got, want, strict=True):
        try:
            same(row, wanted, torch.float32)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(compiled, backend):
    function = compiled(all_operators, backend)
    for upstreams in (UPSTREAMS, torch.full_like(ROWS, torch.inf)):
        rows = ROWS.clone().requires_grad_()
        y = function(rows)
        same_rows(y, all_operators(ROWS))
        same_rows(torch.autograd.grad(y, rows, upstreams)[0], all_gradients(upstreams))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_compile_in_half_precision(compiled, dtype):
    rows = ROWS.to(dtype).requires_grad_()
    upstreams = UPSTREAMS.to(dtype)
    y = compiled(all_operators, "aot_eager")(rows)
    got = torch.autograd.grad(y, rows, upstreams)[0]
    for n, name in enumerate(NAMES):
        assert torch.equal(y[n], OPERATORS[name].function(rows[n])), name
        same(got[n], expected_gradient(OPERATORS[name], rows[n].detach(), upstreams[n]), dtype)


def test_compile_of_grad(compiled):
    slopes = compiled(grad(lambda rows: (all_operators(rows) * UPSTREAMS).sum()), "aot_eager")(ROWS)
    same_rows(slopes, all_gradients())


def test_compile_of_jvp(compiled):
    forward = compiled(lambda rows, t: jvp(all_operators, (rows,), (t,)), "aot_eager")
    y, tangent = forward(ROWS, UPSTREAMS)
    same_rows(y, all_operators(ROWS))
    want = [expected_tangent(n, x, t) for n, x, t in zip(NAMES, ROWS, UPSTREAMS, strict=True)]
    same_rows(tangent, want)


def test_compile_of_vmap(compiled):
    batch = torch.stack([ROWS, -ROWS])
    y = compiled(vmap(all_operators), "aot_eager")(batch)
    same_rows(y[0], all_operators(ROWS))
    same_rows(y[1], all_operators(-ROWS))

    def pullback(rows, upstreams):
        return vjp(all_operators, rows)[1](upstreams)[0]

    slopes = compiled(vmap(pullback), "aot_eager")(batch, torch.stack([UPSTREAMS, UPSTREAMS]))
    same_rows(slopes[0], all_gradients())


def test_clip_gradient_is_compiled_or_refused(compiled):
    """Its hook needs a newer torch than the oldest that works otherwise."""
    function, x = compiled(OPERATORS["clip_gradient"].function, "aot_eager"), X.clone()
    x.requires_grad_()
    if CLIP_COMPILES:
        want = expected_gradient(OPERATORS["clip_gradient"], X, UPSTREAM)
        same(torch.autograd.grad(function(x), x, UPSTREAM)[0], want, x.dtype)
    else:
        with pytest.raises(Exception, match="intermediate hooks"):
            function(x)
