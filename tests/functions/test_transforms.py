"""Each operator under torch.func, forward mode, torch.compile and autocast, against its formula.

Everywhere, x has other uses beside the operator, whose gradients it must not touch.
"""

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import grad, jvp, vjp, vmap

from autograd_surprises.report_card import report_card
from tests.functions.operators import OPERATORS, OTHERS, among_others
from tests.functions.test_formulas import expected_gradient, same, upstream_for

# torch's own, when it first differentiates forwards, and when Inductor starts
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script"),
    pytest.mark.filterwarnings("ignore:Skipping serialization of skipfiles"),
]
each_operator = pytest.mark.parametrize("name", OPERATORS)
each_dtype = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str
)
X = torch.tensor([[-2.0, -1.0, 0.3, 0.5], [1.0, 0.6, 5.0, -0.25], [0.0, 2.5, -0.7, 1.5]])
UPSTREAM = upstream_for(X)
BESIDE = {name: among_others(operator.function) for name, operator in OPERATORS.items()}


def with_others(name, x, vector):
    """The gradient of BESIDE[name] for an upstream gradient, and its tangent for a tangent."""
    vector = vector.double()
    return (OPERATORS[name].times(x.double(), vector) + OTHERS * vector).to(x.dtype)


# These are not asked where one number reaches others. All other rows work, of every operator.
NOT_WORKING = {
    "argmax_ste": dict.fromkeys(
        ["inf upstream", "large x", "inf, NaN and -0", "empty", "0-d"], "not applicable"
    )
}


@pytest.mark.slow
@each_operator
def test_report_card(name):
    """28 questions, each with its own expectation; the proxy is checked in test_formulas."""
    card = report_card(OPERATORS[name].function, X, like=OPERATORS[name].proxy)
    others = {row.name: row.status for row in card.rows if row.status not in ("works", "skipped")}
    assert others == NOT_WORKING.get(name, {}), str(card)


@each_operator
def test_what_has_left_a_transform_still_has_its_gradient(name):
    leaf, left = X.clone().requires_grad_(), []
    grad(lambda one: (left.append(one * leaf), one.sum())[1])(torch.ones(()))
    (got,) = torch.autograd.grad(BESIDE[name](left[0]), leaf, UPSTREAM)
    same(got, with_others(name, X, UPSTREAM), X.dtype)


@each_operator
def test_backward_through_vmap_and_many_upstreams_at_once(name):
    function, leaf = BESIDE[name], X.clone().requires_grad_()
    want = with_others(name, X, UPSTREAM)
    (slopes,) = torch.autograd.grad(vmap(function)(leaf), leaf, UPSTREAM)
    same(slopes, want, X.dtype)
    both = torch.stack([UPSTREAM, -UPSTREAM])
    (slopes,) = torch.autograd.grad(function(leaf), leaf, both, is_grads_batched=True)
    same(slopes, torch.stack([want, -want]), X.dtype)


@each_operator
def test_the_gradient_of_the_gradient(name):
    x, upstream = X.double().requires_grad_(), UPSTREAM.double().requires_grad_()
    operator, weights = OPERATORS[name], upstream_for(X.double()).flip(0)

    def second(gradient):
        wanted = torch.autograd.grad(gradient, (x, upstream), weights, materialize_grads=True)
        return torch.stack(wanted)

    mine = torch.autograd.grad(BESIDE[name](x), x, upstream, create_graph=True)[0]
    formula = operator.times(x, upstream) + OTHERS * upstream
    same(second(mine), second(formula), x.dtype)


@each_dtype
@each_operator
def test_forward_mode(name, dtype):
    x, t, function = X.to(dtype), UPSTREAM.to(dtype), BESIDE[name]
    want = with_others(name, x, t)
    y, tangent = jvp(function, (x,), (t,))
    assert torch.equal(y, function(x))
    same(tangent, want, dtype)
    with forward_ad.dual_level():
        dual = function(forward_ad.make_dual(x, t))
        same(forward_ad.unpack_dual(dual).tangent, want, dtype)
        dual = vmap(function)(forward_ad.make_dual(x, t))
        same(forward_ad.unpack_dual(dual).tangent, want, dtype)
    same(vmap(lambda x, t: jvp(function, (x,), (t,))[1])(x, t), want, dtype)
    same(jvp(vmap(function), (x,), (t,))[1], want, dtype)


@each_dtype
@each_operator
def test_backward_within_forward_mode(name, dtype):
    """Where no Function is called; torch.compile calls none either."""
    x, upstream = X.to(dtype), UPSTREAM.to(dtype)
    leaf, want = x.clone().requires_grad_(), with_others(name, x, upstream)
    with forward_ad.dual_level():
        (got,) = torch.autograd.grad(BESIDE[name](leaf), leaf, upstream)
        same(got, want, dtype)
    pullback = lambda x: vjp(BESIDE[name], x)[1](upstream)[0]  # noqa: E731
    same(jvp(pullback, (x,), (x,))[0], want, dtype)


@each_operator
def test_an_upstream_with_a_tangent(name):
    leaf, upstream = X.clone().requires_grad_(), UPSTREAM
    y = BESIDE[name](leaf)  # before forward mode begins, so by the Function
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(upstream, torch.ones_like(X))
        (got,) = torch.autograd.grad(y, leaf, dual)
        value, tangent = forward_ad.unpack_dual(got)
    same(value, with_others(name, X, upstream), X.dtype)
    same(tangent, with_others(name, X, torch.ones_like(X)), X.dtype)


# One compilation for all operators, each at its own row, is several times as fast as one for each.
# Inductor takes the longest and sees the same operations whatever the transform: one test has it.
# One of those that share Function and proxy is enough for transforms.
SHARING = ["floor_ste", "ceil_ste", "trunc_ste", "clamp_ste", "fake_quantize", "reverse_gradient"]
SHARING += ["clamp, 0 at a bound", "clamp, 1 at a bound", "clamp, no maximum", "clamp, no minimum"]
SHARING += ["step, sigmoid", "step, fast_sigmoid", "step, straight_through"]
FEW = [name for name in OPERATORS if name not in SHARING]
ROWS = torch.stack([X.flatten() for _ in OPERATORS])
UPSTREAMS = upstream_for(ROWS)


def together(names):
    """These operators, beside another use of each row, which has an upstream of its own."""

    def function(rows):
        y = [OPERATORS[name].function(x) for name, x in zip(names, rows, strict=True)]
        return torch.stack([torch.stack(y), 3 * rows])

    return function


def same_gradients(got, names, upstreams=UPSTREAMS):
    for name, row, upstream, beside in zip(names, got, upstreams, UPSTREAMS, strict=False):
        want = expected_gradient(OPERATORS[name], ROWS[0], upstream) + 3 * beside
        same(row, want, torch.float32, name)


@pytest.fixture
def compiled(inductor):
    torch.compiler.reset()
    yield lambda function, backend: torch.compile(function, fullgraph=True, backend=backend)
    torch.compiler.reset()


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_compile(compiled, backend):
    names = OPERATORS if backend == "inductor" else FEW
    eager, upstream = together(names), UPSTREAMS[: len(names)]
    function = compiled(eager, backend)
    for upstreams in (upstream, torch.full_like(upstream, torch.inf)):
        rows = ROWS[: len(names)].clone().requires_grad_()
        y = function(rows)
        same(y, eager(rows), torch.float32)
        (got,) = torch.autograd.grad(y, rows, torch.stack([upstreams, upstream]))
        same_gradients(got, names, upstreams)


@pytest.mark.slow
def test_compile_of_transforms(compiled):
    """In one compilation, too; without Inductor, which would see nothing new."""
    function, rows, upstreams = together(FEW), ROWS[: len(FEW)].clone(), UPSTREAMS[: len(FEW)]

    def gradients(rows):
        return vjp(function, rows)[1](torch.stack([upstreams, upstreams]))[0]

    def transformed(rows, batch):
        vmapped = vmap(function)(batch), vmap(gradients)(batch)
        return gradients(rows), jvp(function, (rows,), (upstreams,)), vmapped

    slopes, (y, tangents), (values, batch_of_slopes) = compiled(transformed, "aot_eager")(
        rows, torch.stack([rows, -rows])
    )
    same(y, function(rows), torch.float32)
    same(values, torch.stack([function(rows), function(-rows)]), torch.float32)
    for got in (slopes, batch_of_slopes[0]):
        same_gradients(got, FEW)
    for name, x, t, got in zip(FEW, rows, upstreams, tangents[0], strict=True):
        same(got, OPERATORS[name].times(x.double(), t.double()).float(), torch.float32, name)
