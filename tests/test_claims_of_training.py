"""Facts behind sentences about training steps and estimators, in torch's own words."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

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
