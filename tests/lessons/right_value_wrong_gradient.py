"""Right and wrong answers on policy gradients."""

import torch


def clipped(choose=torch.minimum, product=None, sign=-1.0, old=torch.detach, ratio_of=None):
    """The loss of exercise right_value_wrong_gradient.1, with one of its parts exchanged."""

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


def ratio_one(log_p):
    return (log_p - log_p.detach()).exp()


def k2(r):
    return r**2 / 2


def k3(r):
    return (-r).exp() - 1 + r


def with_gradient_of(value, other):
    return value.detach() + other - other.detach()


RIGHT = {
    "right_value_wrong_gradient.1": {"by where": by_where},
    "right_value_wrong_gradient.2": {
        "the ratio times k1": lambda p, q: ratio_one(p) * (p - q),
        "the gradient of k2": lambda p, q: with_gradient_of(p - q, k2(p - q)),
    },
}

WRONG = {
    "right_value_wrong_gradient.1": {
        "the objective": (clipped(sign=1.0), "the loss is its negative"),
        "the maximum": (clipped(torch.maximum), "The larger product is taken"),
        "clamp alone": (
            clipped(product=lambda r, a, low, high: r.clamp(low, high) * a),
            "yours -0.8, expected -0.5 … cannot come back",
        ),
        "no clip": (clipped(product=lambda r, a, low, high: r * a), "Nothing is clipped"),
        "upside down": (
            clipped(ratio_of=lambda new, old: (old - new).exp()),
            "The ratio is upside down",
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
        "the mean": (
            lambda *args: clipped()(*args).mean(),
            "has shape (), expected (5,) … Return the loss of each token",
        ),
    },
    "right_value_wrong_gradient.2": {
        "k1": (lambda p, q: p - q, "the draw is missing"),
        "k1 in the reward": (lambda p, q: (p - q).detach() * p, "That is k1 in the reward"),
        "k2": (lambda p, q: k2(p - q), "That is k2: its gradient is right"),
        "k3": (lambda p, q: k3(p - q), "That is k3: its mean is the KL"),
        "the gradient of k3": (
            lambda p, q: with_gradient_of(p - q, k3(p - q)),
            "the gradient of k3, of the KL with both exchanged",
        ),
        "the sign": (lambda p, q: ratio_one(p) * (q - p), "The sign is turned: log_p - log_q"),
        "times p": (lambda p, q: p.exp() * (p - q), "multiplied by p"),
        "detached": (lambda p, q: (p - q).detach(), "has no graph"),
        "the mean": (lambda p, q: (ratio_one(p) * (p - q)).mean(), "Return a term for each option"),
    },
}
