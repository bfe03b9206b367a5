"""Checks on policy gradients: a clipped loss, and a KL penalty."""

import torch

from lessons.asking.answers import call_answer, expect_close, expect_tensor
from lessons.asking.registry import Wrong, check_of

float32, float64 = torch.float32, torch.float64


@check_of(
    "right_value_wrong_gradient.1",
    "Flat where a token has gone far enough, and the minimum lets the others come back.",
    inputs=[
        # no ratio is at a bound
        ([0.5, 1.5, 1.0, 0.5, 40.0], [1.0, 1.0, 0.5, -1.0, -1.0], 0.8, 1.2, float64),
        ([1.6, 0.3, 1.25], [0.75, -1.25, -0.5], 0.7, 1.28, float32),
    ],
)
def check_clipped_loss(answer, ratios, advantages, low, high, dtype):
    advantage = torch.tensor(advantages, dtype=dtype)
    before = torch.linspace(-2.0, -0.5, len(ratios), dtype=dtype)
    after = (before + torch.tensor(ratios, dtype=dtype).log()).requires_grad_()
    before.requires_grad_()
    where = f"clipped_loss of ratios {ratios}, advantages {advantages}, {low:g}, {high:g}"
    loss = call_answer(answer, after, before, advantage, low, high)
    expect_tensor(where, loss, after.shape, "Return the loss of each token, without a mean.")
    new, old = after.detach(), before.detach()
    wanted = _clipped_loss(new, old, advantage, low, high)
    ratio = (new - old).exp()
    plain, clamped = ratio * advantage, ratio.clamp(low, high) * advantage
    mistakes = {
        "That is the objective: the loss is its negative.": -wanted,
        "The larger product is taken: of the two objectives, PPO takes the smaller.": (
            -torch.maximum(plain, clamped)
        ),
        "That is the clamped product alone: a token that went the wrong way cannot come back. Take "
        "the minimum of both products.": -clamped,
        "Nothing is clipped: low and high are bounds, such as 0.8 and 1.2.": -plain,
        "The ratio is upside down: p / p_old is exp(log_p - old_log_p).": (
            _clipped_loss(old, new, advantage, low, high)
        ),
    }
    expect_close(where, loss, wanted, mistakes)
    if not loss.requires_grad:
        raise Wrong(f"{where} has no graph: log_p has to keep its own.")
    upstream = torch.arange(1, len(ratios) + 1, dtype=dtype) ** 2 / 2
    found = torch.autograd.grad(loss, (after, before), upstream, allow_unused=True)
    of_after, of_before = (
        torch.zeros_like(new) if gradient is None else gradient for gradient in found
    )
    right = _clipped_loss(after, old, advantage, low, high)
    (expected,) = torch.autograd.grad(right, after, upstream)
    mistakes = {
        "log_p is detached, so nothing trains: detach old_log_p instead.": torch.zeros_like(new)
    }
    expect_close(f"{where}: gradient with respect to log_p", of_after, expected, mistakes)
    why = "It is a constant here: detach it."
    expect_close(f"{where}: gradient with respect to old_log_p", of_before, 0 * old, why=why)


def _clipped_loss(log_p, old, advantage, low, high):
    ratio = (log_p - old).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(low, high) * advantage)


@check_of(
    "right_value_wrong_gradient.2",
    "The value of k1, and what the draw adds to its gradient.",
    inputs=[
        ([1.0, -0.5, -2.0, 0.5], [-1.0, -1.5, 0.5, 1.0], float64),
        ([0.75, -1.0, 0.25], [-0.5, 1.5, 0.0], float32),
    ],
)
def check_kl_penalty(answer, policy, reference, dtype):
    where = f"kl_penalty, policy {policy}, reference {reference}"
    logits = torch.tensor(policy, dtype=dtype, requires_grad=True)
    log_q = torch.tensor(reference, dtype=dtype).log_softmax(-1)
    log_p = logits.log_softmax(-1)
    p, r = log_p.detach().exp(), log_p - log_q
    term = call_answer(answer, log_p, log_q)
    expect_tensor(where, term, r.shape, "Return a term for each option, without a mean.")
    k2, k3 = r**2 / 2, (-r).exp() - 1 + r
    mistakes = {
        "That is k2: its gradient is right, but its value is not.": k2.detach(),
        "That is k3: its mean is the KL, but here the value of k1 is asked for.": k3.detach(),
        "The sign is turned: log_p - log_q.": -r.detach(),
        "That is k1 in the reward: its gradient is right, but its value is not.": (
            (r * log_p).detach()
        ),
        "The terms are multiplied by p. But the options are drawn, and so counted, already.": (
            (p * r).detach()
        ),
    }
    expect_close(where, term, r.detach(), mistakes)
    if not term.requires_grad:
        raise Wrong(f"{where} has no graph: log_p has to keep its own somewhere.")

    def mean_gradient(each):
        return torch.autograd.grad((p * each).sum(), logits, retain_graph=True)[0]

    wanted = mean_gradient(k2)
    mistakes = {
        "That is the gradient of k1 alone, whose mean is 0: the draw is missing.": (
            torch.zeros_like(wanted)
        ),
        "That is the gradient of k3, of the KL with both exchanged.": mean_gradient(k3),
    }
    place = f"{where}: mean gradient with respect to the logits"
    expect_close(place, mean_gradient(term), wanted, mistakes)
