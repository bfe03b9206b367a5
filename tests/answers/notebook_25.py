"""Right and wrong answers on policy gradients."""

import torch


def clipped(choose=torch.minimum, product=None, sign=-1.0, old=torch.detach, ratio_of=None):
    """The loss of exercise 25.1, with one of its parts exchanged."""

    def answer(log_p, old_log_p, advantage, low, high):
        ratio = (ratio_of or (lambda new, before: (new - before).exp()))(log_p, old(old_log_p))
        if product:
            return sign * product(ratio, advantage, low, high)
        return sign * choose(ratio * advantage, ratio.clamp(low, high) * advantage)

    return answer


def by_where(log_p, old_log_p, advantage, low, high):
    ratio = (log_p - old_log_p.detach()).exp()
    stopped = ((ratio > high) & (advantage > 0)) | ((ratio < low) & (advantage < 0))
    return -torch.where(stopped, ratio.clamp(low, high), ratio) * advantage


def as_maximum(log_p, old_log_p, advantage, low, high):
    ratio = log_p.exp() / old_log_p.detach().exp()
    return torch.maximum(-advantage * ratio, -advantage * ratio.clip(low, high))


def dual_clipped(log_p, old_log_p, advantage, low, high):
    """Ye et al., 2020: what a bad answer can cost is bounded as well."""
    loss = clipped()(log_p, old_log_p, advantage, low, high)
    return torch.where(advantage < 0, torch.minimum(loss, -3 * advantage), loss)


def ratio_one(log_p):
    return (log_p - log_p.detach()).exp()


def k2(r):
    return r**2 / 2


def k3(r):
    return (-r).exp() - 1 + r


def with_gradient_of(value, other):
    return value.detach() + other - other.detach()


def gate(weigh, choose=None):
    """The gate of exercise 25.3: `weigh` makes weights from the scores and the chosen ones."""

    def answer(scores, outputs, k):
        places = (choose or (lambda s, o: s))(scores, outputs).topk(k).indices
        chosen = torch.zeros_like(scores).scatter(-1, places, 1.0)
        return (weigh(scores, chosen) * outputs).sum(-1)

    return answer


def of_the_best(scores, outputs, k):
    best = scores.topk(k)
    return (best.values.softmax(-1) * outputs.gather(-1, best.indices)).sum(-1)


def with_exp(scores, outputs, k):
    places = scores.topk(k).indices
    shares = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return sum(
        shares.gather(-1, places[:, j, None])[:, 0] * outputs.gather(-1, places[:, j, None])[:, 0]
        for j in range(k)
    )


RIGHT = {
    "25.1": {
        "the larger of the losses": as_maximum,
        "by where": by_where,
        "without a graph": lambda p, old, *rest: clipped(old=lambda o: o)(p, old.detach(), *rest),
    },
    "25.2": {
        "the ratio times k1": lambda p, q: ratio_one(p) * (p - q),
        "the ratio times k1, detached": lambda p, q: ratio_one(p) * (p - q).detach(),
        "the gradient of k2": lambda p, q: with_gradient_of(p - q, k2(p - q)),
        "the ratio and k3": lambda p, q: with_gradient_of(p - q, ratio_one(p) * k3(p - q)),
    },
    "25.3": {
        "a mask": gate(lambda s, chosen: s.softmax(-1) * chosen),
        "one by one": with_exp,
    },
}

WRONG = {
    "25.1": {
        "the objective": (clipped(sign=1.0), "the loss is its negative"),
        "the maximum": (clipped(torch.maximum), "The larger product is taken"),
        "clipped twice": (dual_clipped, "yours 3, expected 40 … the dual clip of PPO"),
        "clamp alone": (
            clipped(product=lambda r, a, low, high: r.clamp(low, high) * a),
            "yours -0.8, expected -0.5 … cannot come back",
        ),
        "no clip": (clipped(product=lambda r, a, low, high: r * a), "Nothing is clipped"),
        "upside down": (
            clipped(ratio_of=lambda new, old: (old - new).exp()),
            "The ratio is upside down",
        ),
        "no exp": (
            clipped(ratio_of=lambda new, old: new - old),
            "the exp of the difference of the logarithms",
        ),
        "the product clamped": (
            clipped(product=lambda r, a, low, high: torch.minimum(r * a, (r * a).clamp(low, high))),
            "Bad answers are not clipped",
        ),
        "only the upper bound": (
            clipped(product=lambda r, a, low, high: torch.minimum(r * a, r.clamp(max=high) * a)),
            "Bad answers are not clipped: clamp the ratio to both bounds",
        ),
        "bounds added to 1": (
            clipped(
                product=lambda r, a, low, high: torch.minimum(r * a, r.clamp(1 - low, 1 + high) * a)
            ),
            "low and high are bounds, such as",
        ),
        "the minimum of the ratios": (
            clipped(product=lambda r, a, low, high: torch.minimum(r, r.clamp(low, high)) * a),
            "The minimum is taken of the two ratios",
        ),
        "the old one attached": (
            clipped(old=lambda old: old),
            "respect to old_log_p, entry [0]: yours 0.25, expected 0 … a constant here: detach it",
        ),
        "the new one detached": (
            lambda new, *rest: clipped(old=lambda old: old)(new.detach(), *rest),
            "log_p is detached, so nothing trains",
        ),
        "both detached": (
            lambda new, *rest: clipped()(new.detach(), *rest),
            "has no graph: log_p has to keep its own",
        ),
        "flat on both sides": (
            lambda new, old, a, low, high: with_gradient_of(
                clipped()(new, old, a, low, high),
                -(new - old.detach()).exp().clamp(low, high) * a,
            ),
            "respect to log_p, entry [0]: yours 0, expected -0.25 … the minimum of both products",
        ),
        "the mean": (
            lambda *args: clipped()(*args).mean(),
            "has shape (), expected (5,). Return the loss of each token",
        ),
    },
    "25.2": {
        "k1": (lambda p, q: p - q, "the draw is missing"),
        "the ratio detached": (
            lambda p, q: ratio_one(p).detach() * (p - q),
            "mean gradient with respect to the logits, entry [0] … the draw is missing",
        ),
        "k1 in the reward": (lambda p, q: (p - q).detach() * p, "That is k1 in the reward"),
        "without exp": (lambda p, q: (p - p.detach()) * (p - q), "The factor is 0: take its exp"),
        "k2": (lambda p, q: k2(p - q), "That is k2: its gradient is right"),
        "k3": (lambda p, q: k3(p - q), "That is k3: its mean is the KL"),
        "the gradient of k3": (
            lambda p, q: with_gradient_of(p - q, k3(p - q)),
            "the gradient of k3, of the KL with both exchanged",
        ),
        "the sign": (lambda p, q: ratio_one(p) * (q - p), "The sign is turned: log_p - log_q"),
        "the ratio upside down": (
            lambda p, q: (p.detach() - p).exp() * (p - q),
            "The sign of what the draw adds is turned",
        ),
        "twice": (lambda p, q: ratio_one(p) ** 2 * (p - q), "What the draw adds is there twice"),
        "times p": (lambda p, q: p.exp() * (p - q), "multiplied by p"),
        "the gradient of the sum over all options": (
            lambda p, q: with_gradient_of(p - q, (p.exp() * (p - q)).sum()),
            "one call for each, entry [0] … the others were not drawn",
        ),
        "detached": (lambda p, q: (p - q).detach(), "has no graph"),
        "the mean": (
            lambda p, q: (ratio_one(p) * (p - q)).mean(),
            "Return a term for each option, without a mean",
        ),
    },
    "25.3": {
        "softmax of the best": (of_the_best, "with k = 1 it is always 1"),
        "alone": (gate(lambda s, chosen: chosen), "The gate multiplies nothing"),
        "all": (gate(lambda s, chosen: s.softmax(-1)), "All experts are used"),
        "scores": (gate(lambda s, chosen: s * chosen), "take their softmax"),
        "the other dimension": (
            gate(lambda s, chosen: s.softmax(0) * chosen),
            "The softmax is over the tokens",
        ),
        "the other dimension, before the choice": (
            lambda s, o, k: (
                s.softmax(0).topk(k).values * o.gather(-1, s.softmax(0).topk(k).indices)
            ).sum(-1),
            "The softmax is over the tokens: take it over the experts, and then choose",
        ),
        "the largest products": (
            gate(lambda s, chosen: s.softmax(-1) * chosen, lambda s, o: s.softmax(-1) * o),
            "choose by the scores",
        ),
        "detached": (
            gate(lambda s, chosen: s.detach().softmax(-1) * chosen),
            "scores get no gradient",
        ),
        "experts detached": (
            lambda s, o, k: gate(lambda s, chosen: s.softmax(-1) * chosen)(s, o.detach(), k),
            "outputs get no gradient",
        ),
        "the mean": (
            lambda s, o, k: gate(lambda s, chosen: s.softmax(-1) * chosen)(s, o, k) / k,
            "The mean over the experts is taken",
        ),
        "one number": (
            lambda s, o, k: gate(lambda s, chosen: s.softmax(-1) * chosen)(s, o, k).sum(),
            "has shape (), expected (3,)",
        ),
    },
}
