"""Facts behind sentences that were once false or too wide, in torch's own words."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function, forward_ad
from torch.library import _scoped_library, custom_op, opcheck

from helpers.functions import clamp, round_ste
from lessons import digits
from lessons.digits import IMAGES, LABELS
from lessons.digits.networks import WAYS
from lessons.saved_tensors import saved_tensors
from lessons.square_operator import square

USES_JIT = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
TWICE = replace(WAYS["learned step"], scale_factor=2.2)


# ---- notebooks 01, 03, 13: leaves and kinks


def test_what_is_not_recorded_is_a_leaf():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        unrecorded = 3 * x
    assert all(each.is_leaf for each in (unrecorded, (3 * x).detach(), x > 0))
    assert not (3 * x).is_leaf


def test_hardtanh_bends_downwards_at_its_upper_bound():
    """So no line through that point lies below it: there is no subgradient."""
    middle, ends = F.hardtanh(torch.tensor([1.0])), F.hardtanh(torch.tensor([0.5, 1.5])).mean()
    assert middle > ends


# ---- notebook 07, when the scale is wrong


def test_a_scale_that_rounds_every_weight_to_0_has_a_gradient():
    weights, scale = torch.linspace(-1, 1, 21), torch.tensor(2.1, requires_grad=True)
    levels = clamp(round_ste(weights / scale), -2, 1, bound_gradient=1)
    (gradient,) = torch.autograd.grad((levels * scale - weights).square().mean(), scale)
    assert not levels.any()
    torch.testing.assert_close(gradient, (2 * weights * weights / 2.1).mean())


def test_only_the_last_bias_learns_at_twice_the_scale():
    model = digits.network(TWICE, torch.Generator().manual_seed(0))
    assert not model[:2](IMAGES).any()
    F.cross_entropy(model(IMAGES), LABELS).backward()
    assert [name for name, p in model.named_parameters() if p.grad.any()] == ["4.bias"]


# ---- notebook 09


def test_a_dead_unit_comes_back_if_the_layer_before_it_moves():
    first, second = torch.tensor(0.5, requires_grad=True), torch.ones(2, requires_grad=True)
    bias = torch.tensor([0.0, -1.0])

    def hidden():
        return torch.relu(first * second + bias)

    assert hidden()[1] == 0
    optimizer = torch.optim.SGD([first, second], lr=0.05)
    for _ in range(20):
        optimizer.zero_grad()
        (hidden().sum() - 5).square().backward()
        optimizer.step()
    assert hidden()[1] > 0


# ---- notebook 15


def test_ddp_does_not_divide_the_batch():
    from torch.testing._internal.distributed.fake_pg import FakeStore

    class Counting(nn.Linear):
        def forward(self, x):
            self.rows = len(x)
            return super().forward(x)

    if torch.distributed.is_initialized():  # by another test in this process
        torch.distributed.destroy_process_group()
    torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        model = nn.parallel.DistributedDataParallel(Counting(1, 1))
        model(torch.ones(6, 1))
    finally:
        torch.distributed.destroy_process_group()
    assert model.module.rows == 6


# ---- notebooks 16 and 17: Adam and clipping


def adam_moves(factor, weight_decay=0.0, limit=torch.inf):
    weight = torch.tensor([3.0, -1.0], requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=0.1, weight_decay=weight_decay)
    for target in (1.0, -20.0, 4.0):
        optimizer.zero_grad()
        (factor * (weight - target).square().sum()).backward()
        nn.utils.clip_grad_norm_([weight], limit)
        optimizer.step()
    return weight.detach()


def test_adam_forgives_a_factor_only_without_decay_and_clipping():
    assert torch.allclose(adam_moves(1.0), adam_moves(0.1), atol=1e-4)
    for settings in ({"weight_decay": 0.5}, {"limit": 5.0}):
        assert not torch.allclose(
            adam_moves(1.0, **settings), adam_moves(0.1, **settings), atol=1e-3
        )


@pytest.mark.parametrize(
    ("clip", "found", "left"),
    [
        (nn.utils.clip_grad_value_, [math.inf, 2.0], [1.0, 1.0]),
        (nn.utils.clip_grad_value_, [math.nan, 2.0], [math.nan, 1.0]),
        (nn.utils.clip_grad_norm_, [math.inf, 2.0], [math.nan, 0.0]),
        (nn.utils.clip_grad_norm_, [math.nan, 2.0], [math.nan, math.nan]),
    ],
)
def test_what_clipping_leaves_of_infinity_and_nan(clip, found, left):
    weight = nn.Parameter(torch.zeros(2))
    weight.grad = torch.tensor(found)
    clip([weight], 1.0)
    torch.testing.assert_close(weight.grad, torch.tensor(left), equal_nan=True)


# ---- notebooks 22 and 25: groups, terms of the KL, gates


def angle_in_groups_of_four(rewards, divided):
    """Degrees between the true gradient and the mean over all groups; and how much is left."""
    p = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64).softmax(-1)
    rewards = torch.tensor(rewards, dtype=torch.float64)
    true = p * (rewards - p @ rewards)
    mean = torch.zeros_like(true)
    for group in itertools.product(range(3), repeat=4):
        group = torch.tensor(group)
        advantages = rewards[group] - rewards[group].mean()
        if divided:
            advantages = advantages / (rewards[group].std() + 1e-4)
        mean += p[group].prod() * (advantages[:, None] * (F.one_hot(group, 3) - p)).mean(0)
    cosine = F.cosine_similarity(mean, true, dim=0).clamp(max=1)
    return math.degrees(cosine.acos()), (mean @ true / true.square().sum()).item()


def test_the_deviation_turns_the_gradient_of_a_group():
    angle, left = angle_in_groups_of_four([0.0, 0.1, 1.0], divided=False)
    assert angle < 1e-3 and math.isclose(left, 3 / 4, rel_tol=1e-6)
    assert angle_in_groups_of_four([0.0, 0.0, 1.0], divided=True)[0] < 1e-3
    assert angle_in_groups_of_four([0.0, 0.1, 1.0], divided=True)[0] > 30


def test_equal_rewards_leave_a_rounding_error_that_a_tiny_eps_enlarges():
    def largest(eps):
        groups = [torch.full((n,), 0.7) for n in range(2, 65)]
        return max(((g - g.mean()) / (g.std() + eps)).abs().max().item() for g in groups)

    assert 0 < largest(1e-4) < 0.01 and largest(1e-8) > 0.1


def test_differences_as_small_as_eps_hardly_count():
    rewards = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    best = [(each - each.mean()).div(each.std() + 1e-4)[0] for each in (rewards, 1e-5 * rewards)]
    assert best[1] < best[0] / 10


def test_k2_has_the_gradient_of_the_kl_only_for_samples_of_the_policy_itself():
    logits = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)
    log_p, log_q = logits.log_softmax(-1), torch.full((3,), 1 / 3, dtype=torch.float64).log()
    p, r = log_p.exp(), log_p - log_q
    older = torch.tensor([0.2, 0.2, 0.6], dtype=torch.float64)
    kl, own, others = (
        torch.autograd.grad(each.sum(), logits, retain_graph=True)[0]
        for each in (p * r, p.detach() * r**2 / 2, older * r**2 / 2)
    )
    torch.testing.assert_close(own, kl)
    assert not torch.allclose(others, kl, atol=0.01)


def test_three_other_ways_give_a_gate_a_gradient():
    scores = torch.tensor([[0.5, 1.0, -0.5]], requires_grad=True)
    outputs = torch.tensor([[1.0, 3.0, 2.0]])
    p, chosen = scores.softmax(-1), F.one_hot(scores.argmax(-1), 3)
    y = (chosen * outputs).sum(-1)
    straight_through = chosen + p - p.detach()
    ways = {
        "balance": 3 * (chosen.float().mean(0) * p.mean(0)).sum(),
        "REINFORCE": (y * (p.log() * chosen).sum(-1)).sum(),
        "straight-through": (straight_through * outputs).sum(),
    }
    assert not y.requires_grad
    for way, loss in ways.items():
        assert torch.autograd.grad(loss, scores, retain_graph=True)[0].abs().max() > 0.1, way


# ---- notebook 26: operators


@USES_JIT
def test_forward_mode_of_an_operator_is_silent_in_torch_func_only():
    x, one = torch.tensor(3.0), torch.tensor(1.0)
    assert torch.func.jvp(square, (x,), (one,))[1] == 0
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="jvp"):
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
