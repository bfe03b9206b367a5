"""Facts behind sentences that were once false or too wide, in torch's own words."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function, forward_ad
from torch.autograd.function import once_differentiable
from torch.library import _scoped_library, custom_op, opcheck
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from helpers.functions import clamp, round_ste, sign_ste
from lessons import digits
from lessons.custom_operators.registered_operators import square
from lessons.digits import IMAGES, LABELS
from lessons.digits.networks import WAYS
from lessons.plain_function import PlainRoundSTE
from lessons.saved_tensors import saved_tensors

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


# ---- notebooks 14 and 15


def compiled_pieces(function, x):
    """The operations in each graph that the compiler gets without fullgraph=True."""
    pieces = []

    def backend(graph, _):
        pieces.append([node.target for node in graph.graph.nodes if node.op.startswith("call")])
        return graph.forward

    torch.compiler.reset()
    torch.compile(function, backend=backend)(x)
    return pieces


class RoundWithJvp(PlainRoundSTE):
    jvp = PlainRoundSTE.backward


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_the_forward_of_a_function_with_a_jvp_is_compiled_by_itself():
    x = torch.tensor(0.4, requires_grad=True)
    pieces = compiled_pieces(lambda x: RoundWithJvp.apply(x.sin()).cos(), x)
    assert pieces == [["sin"], ["round"], ["cos"]]


@pytest.mark.parametrize("function", [torch.nonzero, torch.unique, nn.LSTM(2, 2)])
def test_vmap_does_not_know_each_operation_of_torch(function):
    with pytest.raises(RuntimeError, match="(?i)batching"):
        torch.func.vmap(function)(torch.ones(3, 4, 2))


@pytest.mark.parametrize("declared", [True, False])
def test_a_generated_vmap_rule_cannot_declare_a_write(declared):
    class Doubled(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            if declared:
                ctx.mark_dirty(*inputs)

    rows = torch.ones(3, 2)
    if declared:
        with pytest.raises(RuntimeError, match="marked as dirty"):
            torch.func.vmap(Doubled.apply)(rows)
    else:
        torch.func.vmap(Doubled.apply)(rows)
        assert bool((rows == 2).all())


@USES_JIT
def test_the_level_of_forward_mode_counts_no_nested_derivatives():
    levels, one = [], torch.tensor(1.0)

    def inner(x):
        levels.append(forward_ad._current_level)
        return x

    torch.func.jvp(lambda x: torch.func.jvp(inner, (x,), (one,))[1], (one,), (one,))
    assert levels == [0] and forward_ad._current_level == -1


def test_a_layer_in_half_precision_refuses_float32():
    with pytest.raises(RuntimeError, match="same dtype"):
        nn.Linear(2, 2).half()(torch.ones(2))


def test_backward_runs_inside_autocast_if_it_is_called_there():
    seen = []

    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            seen.append(torch.is_autocast_enabled("cpu"))
            return gradient

    x = torch.tensor(1.0, requires_grad=True)
    with torch.autocast("cpu"):
        y = Same.apply(x)
        y.backward(retain_graph=True)
    y.backward()
    assert seen == [True, False]


class SquareOnce(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient


def test_once_differentiable_is_silent_only_beside_another_path():
    x = torch.tensor(3.0, requires_grad=True)
    (slope,) = torch.autograd.grad(SquareOnce.apply(x), x, create_graph=True)
    assert torch.autograd.grad(x * slope, x)[0] == 6  # instead of 12
    with pytest.raises(RuntimeError, match="does not require grad"):
        slope.backward()


def test_numpy_without_detach_does_not_pass_unseen_in_a_second_derivative():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, gradient):
            return torch.from_numpy(2 * ctx.saved_tensors[0].numpy() * gradient.numpy())

    x = torch.ones(1, requires_grad=True)
    assert torch.autograd.grad(Square.apply(x), x)[0] == 2
    with pytest.raises(RuntimeError, match="numpy"):
        torch.autograd.grad(Square.apply(x), x, create_graph=True)


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


def test_the_mean_of_cross_entropy_divides_by_weights_of_labels_only():
    scores, labels, weight = torch.zeros(3, 2), torch.tensor([0, 1, 1]), torch.tensor([1.0, 4.0])
    for target, divisor in ((labels, 9), (F.one_hot(labels).float(), 3)):
        total = F.cross_entropy(scores, target, weight, reduction="sum")
        torch.testing.assert_close(
            total / F.cross_entropy(scores, target, weight), divisor + 0.0 * total
        )


# ---- notebook 18: checkpoints and freezing


class ComputesOtherwise(nn.Module):
    """exp(x) at first, and after that exp(x · x), which saves more tensors."""

    runs = 0

    def forward(self, x):
        self.runs += 1
        return x.exp() if self.runs == 1 else (x * x).exp()


def test_the_older_checkpoint_does_not_compare_the_second_pass():
    x = torch.tensor([3.0], requires_grad=True)
    checkpoint(ComputesOtherwise(), x, use_reentrant=True).backward()
    torch.testing.assert_close(x.grad, 6 * x.square().exp().detach())


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_checkpoint_that_stops_early_does_not_notice_more_tensors(early_stop):
    x = torch.tensor([3.0], requires_grad=True)
    with set_checkpoint_early_stop(early_stop):
        y = checkpoint(ComputesOtherwise(), x, use_reentrant=False)
    if early_stop:
        y.backward()
        assert x.grad == 3  # x itself, in place of exp(x)
    else:
        with pytest.raises(RuntimeError, match="more tensors during recomputation"):
            y.backward()


@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_the_older_checkpoint_does_not_look_for_tensors_inside_its_inputs():
    x = torch.ones(2, requires_grad=True)
    assert checkpoint(torch.exp, x, use_reentrant=True).requires_grad
    y = checkpoint(lambda given: given["x"].exp(), {"x": x}, use_reentrant=True)
    assert not y.requires_grad


def test_an_inference_tensor_may_be_added_in_a_loss():
    with torch.inference_mode():
        features = torch.ones(2)
    weight = torch.ones(2, requires_grad=True)
    (weight + features).sum().backward()
    assert weight.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        weight * features


@pytest.mark.parametrize(("trained_for", "moves"), [(0, False), (2, True)])
def test_lbfgs_goes_on_moving_what_it_has_moved(trained_for, moves):
    weight, frozen = (torch.ones(1, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.LBFGS([weight, frozen], lr=0.1, max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = (weight - 3).square().sum() * frozen.square().sum() + weight.pow(4).sum()
        loss.backward()
        return loss

    for step in range(5):
        if step == trained_for:
            before, frozen.grad = frozen.detach().clone(), None
        frozen.requires_grad_(step < trained_for)
        optimizer.step(closure)
    assert torch.equal(frozen, before) != moves


@pytest.mark.parametrize(("kept", "moves"), [(torch.zeros(1), True), (None, False)])
def test_a_new_optimizer_may_move_a_frozen_weight(kept, moves):
    frozen = torch.ones(1)
    frozen.grad = kept
    torch.optim.AdamW([frozen], lr=0.1).step()
    assert (frozen.item() != 1) == moves


# ---- notebook 19: hooks


@pytest.mark.filterwarnings("ignore:Full backward hook")
def test_a_full_hook_leaves_out_what_is_passed_by_keyword():
    class Tripled(nn.Module):
        def forward(self, x):
            return 3 * x

    module, seen = Tripled(), []
    module.register_full_backward_hook(lambda module, grad_input, _: seen.append(grad_input))
    x = torch.tensor(1.0, requires_grad=True)
    module(x).backward()
    module(x=x).backward()
    assert seen == [(3,), ()]


# ---- notebooks 22 and 25: groups, terms of the KL, gates


def angle_in_groups_of_four(rewards, divided, logits=(1.0, 0.0, -1.0)):
    """Degrees between the true gradient and the mean over all groups; and how much is left."""
    p = torch.tensor(logits, dtype=torch.float64).softmax(-1)
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
    even = angle_in_groups_of_four([0.0, 0.5, 1.0], divided=True, logits=(0.0, 0.0, 0.0))
    assert even[0] < 1e-3  # three rewards, and nothing turns


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
