"""Facts behind sentences about operators, plain questions and messages, in torch's own words."""

import math

import pytest
import torch
import torch.nn.functional as F
from test_claims import USES_JIT
from torch import nn
from torch.autograd import Function, forward_ad
from torch.library import _scoped_library, custom_op, opcheck

from helpers.functions import sign_ste
from lessons.custom_operators.registered_operators import square
from lessons.saved_tensors import saved_tensors

# ---- notebook 26: operators


@USES_JIT
def test_forward_mode_of_an_operator_is_silent_unless_the_input_requires_a_gradient():
    x, one = torch.tensor(3.0), torch.tensor(1.0)
    assert torch.func.jvp(square, (x,), (one,))[1] == 0
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(square(forward_ad.make_dual(x, one))).tangent is None
        with pytest.raises(NotImplementedError, match="jvp"):
            square(forward_ad.make_dual(x.clone().requires_grad_(), one))


@USES_JIT
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_forward_mode_can_be_registered_for_an_operator():
    with _scoped_library("claims", "DEF") as library:
        library.define("square(Tensor x) -> Tensor")
        library.impl("square", lambda x: x * x, "CompositeExplicitAutograd")
        torch.library.register_fake("claims::square", torch.empty_like, lib=library)

        class Square(Function):
            @staticmethod
            def forward(x):
                with torch._C._AutoDispatchBelowAutograd():
                    return torch.ops.claims.square(x)

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)
                ctx.save_for_forward(*inputs)

            @staticmethod
            def backward(ctx, gradient):
                return 2 * ctx.saved_tensors[0] * gradient

            jvp = backward

        library.impl("square", Square.apply, "Autograd")
        operator, x, one = torch.ops.claims.square.default, torch.tensor(3.0), torch.tensor(1.0)
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(operator(forward_ad.make_dual(x, one))).tangent
        assert tangent == 6
        leaf = x.clone().requires_grad_()
        assert set(opcheck(operator, (leaf,)).values()) == {"SUCCESS"}
        torch.compile(operator, fullgraph=True, backend="aot_eager")(leaf).backward()
        assert leaf.grad == 6
        with pytest.raises(NotImplementedError):
            torch.func.jvp(operator, (x,), (one,))


def test_an_operator_overwrites_a_leaf_without_an_error():
    def halve(x: torch.Tensor) -> None:
        x.mul_(0.5)

    operator, leaf = (
        custom_op("claims::halve", halve, mutates_args={"x"}),
        torch.ones(2, requires_grad=True),
    )
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        halve(leaf)
    operator(leaf)
    assert leaf.tolist() == [0.5, 0.5] and leaf.is_leaf


# ---- plain questions: autograd_surprises/messages/questions.toml


def test_a_leaf_on_a_path_may_have_no_grad():
    class ReturnsNone(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return None

    first, second = (torch.ones(2, requires_grad=True) for _ in range(2))
    ReturnsNone.apply(first).sum().backward()
    (first * second).sum().backward(inputs=[second])
    assert first.grad is None and second.grad is not None
    torch.optim.SGD([second]).zero_grad()
    assert second.grad is None


def test_backward_frees_what_a_kept_loss_holds():
    with saved_tensors() as saved:
        loss = torch.ones(1000, requires_grad=True).exp().sum()
    assert saved.bytes == 4000
    loss.backward()
    assert saved.bytes == 0 and loss.grad_fn is not None


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("spread", [torch.std, torch.var])
def test_the_spread_of_equal_numbers(spread):
    def gradient(n, correction=1):
        numbers = torch.ones(n, requires_grad=True)
        return torch.autograd.grad(spread(numbers, correction=correction), numbers)[0]

    assert not gradient(3).any() and not gradient(1, correction=0).any()
    assert gradient(1).isnan().all()


def test_equal_singular_values_have_a_gradient_only_together():
    def gradient(weights):
        x = torch.eye(2, requires_grad=True)
        (torch.linalg.svdvals(x) * torch.tensor(weights)).sum().backward()
        return x.grad

    torch.testing.assert_close(gradient([1.0, 1.0]), torch.eye(2))
    alone = gradient([1.0, 0.0])  # the largest of both rises if either diagonal entry does
    assert alone.diagonal().sum() == pytest.approx(1) and torch.isfinite(alone).all()


def test_cast_inputs_casts_under_autocast_only():
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def seen(ctx, x):
        return x.dtype, torch.is_autocast_enabled("cpu")

    class Context:
        pass

    x = torch.ones(2, dtype=torch.bfloat16)
    assert seen(Context(), x) == (torch.bfloat16, False)
    with torch.autocast("cpu"):
        assert seen(Context(), x) == (torch.float32, False)


def test_only_the_public_fake_quantize_has_no_gradient_for_its_scale():
    x, scale, zero = torch.ones(3), torch.tensor([0.4], requires_grad=True), torch.zeros(1)
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'scale'"):
        torch.fake_quantize_per_tensor_affine(x, scale, zero.int(), -8, 7)
    y = torch._fake_quantize_learnable_per_tensor_affine(x, scale, zero, -8, 7, 1.0)
    assert torch.autograd.grad(y.sum(), scale)[0].any()


def test_to_returns_the_leaf_itself_if_nothing_has_to_be_converted():
    leaf = torch.ones(2, requires_grad=True)
    assert leaf.to(torch.float32) is leaf and not leaf.to(torch.float64).is_leaf


def test_a_staircase_may_have_a_derivative():
    x = torch.tensor([1.5], requires_grad=True)
    assert torch.autograd.grad(x.round(), x)[0] == 0
    for stairs in (x // 1, torch.heaviside(x, x.detach())):
        with pytest.raises(RuntimeError, match="is not implemented"):
            stairs.backward()


def test_sign_ste_passes_the_gradient_at_its_bounds_and_hardtanh_does_not():
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    assert torch.autograd.grad(sign_ste(x).sum(), x)[0].tolist() == [1, 1]
    assert torch.autograd.grad(F.hardtanh(x).sum(), x)[0].tolist() == [0, 0]


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
def test_a_shared_weight_that_is_listed_twice_moves_twice():
    first, second = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    second.weight = first.weight
    for listed, steps in (
        (nn.Sequential(first, second).parameters(), 1),
        ([*first.parameters(), *second.parameters()], 2),
    ):
        before = first.weight.item()
        optimizer = torch.optim.SGD(listed, lr=1.0)
        first.weight.grad = torch.ones(1, 1)
        optimizer.step()
        assert before - first.weight.item() == pytest.approx(steps)


@pytest.mark.parametrize("had_one", [True, False])
def test_a_compiled_module_that_had_a_hook_runs_a_new_one(had_one):
    torch.compiler.reset()
    layer, ran = nn.Linear(2, 1), []
    if had_one:
        layer.register_forward_hook(lambda *_: None)
    compiled = torch.compile(layer, backend="eager")
    compiled(torch.ones(2))
    layer.register_forward_hook(lambda *_: ran.append(True))
    compiled(torch.ones(2))
    assert bool(ran) == had_one


# ---- messages, and what the doctor says


def test_save_for_backward_takes_none():
    class KeepsNone(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            assert ctx.saved_tensors[1] is None
            return gradient

    x = torch.ones(2, requires_grad=True)
    KeepsNone.apply(x).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_gradient_for_a_tensor_that_requires_none_is_no_error():
    class ForBoth(Function):
        @staticmethod
        def forward(ctx, x, other):
            return 2 * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient, gradient

    x = torch.ones(2, requires_grad=True)
    ForBoth.apply(x, torch.ones(2)).sum().backward()
    with pytest.raises(RuntimeError, match="different than None"):
        ForBoth.apply(x, 2.0).sum().backward()


def test_a_number_in_backward_has_another_message_than_a_list():
    y = 2 * torch.ones(2, requires_grad=True)
    for weights, message in (([1.0, 1.0], "Tensors or None"), (1.0, "not iterable")):
        with pytest.raises(TypeError, match=message):
            y.backward(weights)


@pytest.mark.parametrize(("kept", "has_history"), [("input", True), ("doubled", False)])
def test_what_forward_computed_is_a_constant_and_its_input_is_not(kept, has_history):
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = x if kept == "input" else 2 * x  # not in save_for_backward
            return x**2

        @staticmethod
        def backward(ctx, gradient):
            return (2 * ctx.kept if kept == "input" else ctx.kept) * gradient

    x = torch.tensor(3.0, requires_grad=True)
    (slope,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
    assert slope == 6 and slope.requires_grad == has_history


def test_layer_norm_of_two_nearly_equal_numbers():
    far, near = F.layer_norm(torch.tensor([[1.0, 5.0], [2.0, 2.0001]]), (2,))
    torch.testing.assert_close(far, torch.tensor([-1.0, 1.0]), atol=1e-3, rtol=0)
    assert near.abs().max() < 0.1


def test_short_integers_are_no_indices():
    table = torch.ones(4, 2)
    for index in (torch.tensor([1], dtype=torch.int8), torch.tensor([1], dtype=torch.int16)):
        with pytest.raises(IndexError, match="must be long, int, byte or bool"):
            table[index]


def test_the_derivative_of_det_at_and_near_a_singular_matrix():
    """The true one is the adjugate, which has a 1 here."""
    for pivot, gradient in ((0.0, 0), (1e-40, math.inf)):
        x = torch.diag(torch.tensor([1.0, pivot])).requires_grad_()
        torch.linalg.det(x).backward()
        assert x.grad[1, 1] == gradient


def test_the_distance_of_two_equal_points_has_the_gradient_0_in_cdist():
    x = torch.ones(1, 3, requires_grad=True)
    torch.cdist(x, x.detach()).sum().backward()
    assert not x.grad.any()


def test_a_power_of_a_negative_base_is_real_for_whole_exponents():
    base = torch.tensor(-2.0)
    assert base**3 == -8 and base**-1 == -0.5 and (base**0.5).isnan()
