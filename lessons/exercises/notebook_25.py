"""Checks on policy gradients: a clipped loss, a KL penalty, and a gate."""

import math

import torch

from lessons.exercises.answers import call_answer, expect_close, expect_tensor
from lessons.exercises.arguments import random_tensors
from lessons.exercises.registry import Wrong, check_of

float32, float64 = torch.float32, torch.float64
CONSTANT = "is a constant here: detach it."


@check_of(
    "25.1",
    "Flat where a token has gone far enough, and the minimum lets the others come back.",
    inputs=[
        # no ratio is at a bound
        ([0.5, 1.5, 1.0, 0.5, 40.0], [1.0, 1.0, 0.5, -1.0, -1.0], 0.8, 1.2, float64),
        ([0.4, 0.9, 2.0, 1.35, 0.75, 1.1], [-0.5, 2.0, -1.5, 1.0, -2.0, 0.25], 0.7, 1.28, float64),
        ([1.6, 0.3, 1.25], [0.75, -1.25, -0.5], 0.8, 1.28, float32),
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
    mistakes = {
        why: of(new, old, advantage, low, high).detach() for why, of in WRONG_LOSSES.items()
    }
    wanted = _clipped_loss(new, old, advantage, low, high)
    much_likelier = (advantage < 0) & (new - old > math.log(high))
    mistakes[
        "Bad answers that became much likelier are clipped, too, as in the dual clip of PPO. That "
        "is another objective: take only the minimum."
    ] = loss.detach().to(dtype).minimum(wanted).where(much_likelier, wanted)
    expect_close(where, loss, wanted, mistakes)
    if not loss.requires_grad:
        raise Wrong(f"{where} has no graph: log_p has to keep its own.")
    upstream = torch.arange(1, len(ratios) + 1, dtype=dtype) ** 2 / 2
    found = torch.autograd.grad(loss, (after, before), upstream, allow_unused=True)
    of_after, of_before = (
        torch.zeros_like(new) if gradient is None else gradient for gradient in found
    )
    leaf = new.clone().requires_grad_()
    expected = torch.autograd.grad(_clipped_loss(leaf, old, advantage, low, high), leaf, upstream)[
        0
    ]
    mistakes = {
        "log_p is detached, so nothing trains: detach old_log_p instead.": torch.zeros_like(new),
        "Ratios outside of the bounds have no gradient on either side: is it the minimum of both "
        "products?": expected.where((new - old).exp().clamp(low, high) == (new - old).exp(), 0.0),
    }
    expect_close(f"{where}: gradient with respect to log_p", of_after, expected, mistakes)
    expect_close(
        f"{where}: gradient with respect to old_log_p",
        of_before,
        torch.zeros_like(old),
        why=f"It {CONSTANT}",
    )


def _clipped_loss(log_p, old, advantage, low, high):
    ratio = (log_p - old).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(low, high) * advantage)


WRONG_LOSSES = {
    "That is the objective: the loss is its negative.": lambda *args: -_clipped_loss(*args),
    "The larger product is taken: of the two objectives, PPO takes the smaller.": (
        lambda new, old, a, low, high: (
            -torch.maximum((new - old).exp() * a, (new - old).exp().clamp(low, high) * a)
        )
    ),
    "That is the clamped product alone: a token that went the wrong way cannot come back. Take the "
    "minimum of both products.": (
        lambda new, old, a, low, high: -(new - old).exp().clamp(low, high) * a
    ),
    "Nothing is clipped: low and high are bounds, such as 0.8 and 1.2.": lambda new, old, a, *_: (
        -(new - old).exp() * a
    ),
    "The ratio is upside down: p / p_old is exp(log_p - old_log_p).": (
        lambda new, old, a, low, high: _clipped_loss(old, new, a, low, high)
    ),
    "The ratio is the exp of the difference of the logarithms.": (
        lambda new, old, a, low, high: (
            -torch.minimum((new - old) * a, (new - old).clamp(low, high) * a)
        )
    ),
    "The minimum is taken of the two ratios: take it of the two products.": (
        lambda new, old, a, low, high: (
            -torch.minimum((new - old).exp(), (new - old).exp().clamp(low, high)) * a
        )
    ),
    "Bad answers are not clipped: clamp the ratio to both bounds, and then multiply.": (
        lambda new, old, a, low, high: (
            -torch.minimum((new - old).exp() * a, ((new - old).exp() * a).clamp(low, high))
        )
    ),
}


@check_of(
    "25.2",
    "The value of k1, and what the draw adds to its gradient.",
    inputs=[
        ([1.0, -0.5, -2.0, 0.5], [-1.0, -1.5, 0.5, 1.0], float64),
        ([0.5, 0.0, 2.0, -1.0, -0.25, 1.25], [1.0, 0.5, -1.0, 0.0, -0.75, 0.5], float64),
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
        "The factor is 0: take its exp, which is 1.": torch.zeros_like(r),
        "The terms are multiplied by p. But the options are drawn, and so counted, already.": (
            (p * r).detach()
        ),
        "The factor has to be 1: subtract `log_p.detach()` inside of exp.": (
            (log_p.exp() * r).detach()
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
        "The sign of what the draw adds is turned.": -wanted,
        "What the draw adds is there twice.": 2 * wanted,
    }
    place = f"{where}: mean gradient with respect to the logits"
    expect_close(place, mean_gradient(term), wanted, mistakes)
    one_by_one = [
        call_answer(answer, *each) for each in zip(log_p.split(1), log_q.split(1), strict=True)
    ]
    why = "Each term has to do with its own option: with real answers, the others were not drawn."
    expect_close(
        f"{place}, one call for each", mean_gradient(torch.cat(one_by_one)), wanted, why=why
    )


@check_of(
    "25.3",
    "The factor depends on the score, even with one expert.",
    inputs=[
        # first with two: with one, some mistakes have the same value
        (*random_tensors(0, (3, 4), (3, 4)), 2),
        (*random_tensors(1, (2, 5), (2, 5)), 1),
        (*(each.float() for each in random_tensors(2, (4, 3), (4, 3))), 1),
    ],
)
def check_gated(answer, scores, outputs, k):
    where = f"gated(scores of shape {tuple(scores.shape)}, outputs, {k})"
    scores, outputs = (each.clone().requires_grad_() for each in (scores, outputs))
    y = call_answer(answer, scores, outputs, k)
    p, chosen = scores.softmax(-1), _chosen(scores, k)
    best = scores.where(chosen, -torch.inf).softmax(-1)
    wanted = (p * outputs * chosen).sum(-1)
    mistakes = {
        "That is the softmax of the chosen scores alone: with k = 1 it is always 1, and the gate "
        "gets no gradient. Take it before you choose.": (best * outputs).sum(-1),
        "The gate multiplies nothing: times its probability.": (outputs * chosen).sum(-1),
        "All experts are used: take the best k alone.": (p * outputs).sum(-1),
        "The scores themselves are multiplied: take their softmax.": (
            (scores * outputs * chosen).sum(-1)
        ),
        "The softmax is over the tokens: take it over the experts.": (
            (scores.softmax(0) * outputs * chosen).sum(-1)
        ),
        "The softmax is over the tokens: take it over the experts, and then choose.": (
            _times_the_best_shares(scores.softmax(0), outputs, k)
        ),
        "The k largest products are taken: choose by the scores.": (
            (p * outputs).topk(k).values.sum(-1)
        ),
        "The mean over the experts is taken: add them up.": wanted / k,
    }
    expect_close(f"{where}: value", y, wanted.detach(), mistakes)
    if not y.requires_grad:
        raise Wrong(f"{where} has no graph: nothing in it may be detached.")
    upstream = torch.arange(1, len(y) + 1, dtype=y.dtype) ** 2 / 2
    found = torch.autograd.grad(y, (scores, outputs), upstream, allow_unused=True)
    expected = torch.autograd.grad(wanted, (scores, outputs), upstream)
    for name, gradient, right in zip(("scores", "outputs"), found, expected, strict=True):
        if gradient is None:
            raise Wrong(f"{where}: {name} get no gradient. Leave out detach() and .item().")
        expect_close(f"{where}: gradient with respect to {name}", gradient, right)


def _times_the_best_shares(shares, outputs, k):
    best = shares.topk(k)
    return (best.values * outputs.gather(-1, best.indices)).sum(-1)


def _chosen(scores, k):
    places = scores.topk(k).indices
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, places, True)
