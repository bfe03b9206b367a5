"""Right and wrong answers on estimators."""

import torch


def step_loss(in_product=lambda a: a, in_square=lambda a: a, of_policy=lambda p: p):
    """The loss of exercise 1, with something done to the advantage in each of its places."""

    def answer(logits, baseline, chosen, cost):
        log_probability = of_policy(logits.log_softmax(-1)[chosen])
        advantage = cost - baseline
        return in_product(advantage) * log_probability + in_square(advantage) ** 2

    return answer


def detached(tensor):
    return tensor.detach()


def without_baseline(logits, baseline, chosen, cost):
    return cost * logits.log_softmax(-1)[chosen] + (cost - baseline) ** 2


def rewarded(logits, baseline, chosen, cost):
    advantage = cost - baseline
    return -advantage.detach() * logits.log_softmax(-1)[chosen] + advantage**2


def halved(logits, baseline, chosen, cost):
    advantage = cost - baseline
    return advantage.detach() * logits.log_softmax(-1)[chosen] + advantage**2 / 2


def one_for_all(name, temperature=1.0):
    return lambda samples: (name, temperature)


def gumbel(temperature):
    """Right for one sample, and Gumbel-softmax of this temperature for more."""
    return lambda samples: ("softmax", 1.0) if samples == 1 else ("Gumbel hard", temperature)


def with_cross_entropy(logits, baseline, chosen, cost):
    surprise = torch.nn.functional.cross_entropy(logits, torch.tensor(chosen))
    return (baseline.detach() - cost) * surprise + (baseline - cost).square()


def gumbel_at(name, temperature):
    for_each = {1: ["softmax", 1], 100: (name, temperature), 10_000: ("with baseline", 0.5)}
    return for_each.get


RIGHT = {
    "six_estimators.1": {"with cross_entropy": with_cross_entropy},
    "six_estimators.2": {
        "soft and warmer": gumbel_at("Gumbel soft", 0.5),
        "hard, between the usual temperatures": gumbel_at("Gumbel hard", 0.4),
    },
}

WRONG = {
    "six_estimators.1": {
        "nothing detached": (
            step_loss(),
            "baseline: yours -4.1118, expected -6 … 1.888 of it comes through the product",
        ),
        "the policy": (step_loss(of_policy=detached), "logits get no gradient"),
        "both": (step_loss(detached, detached), "baseline gets no gradient, so it never learns"),
        "the square": (
            step_loss(in_square=detached),
            "gradient with respect to baseline: yours 1.8 … Only advantage ** 2 may reach it",
        ),
        "all three": (
            step_loss(detached, detached, detached),
            "has no graph: everything in it is detached",
        ),
        "no baseline": (without_baseline, "The cost itself is there: subtract the baseline"),
        "a reward": (rewarded, "The sign is turned"),
        "half the square": (halved, "yours -3, expected -6 … The square is halved"),
        "two losses": (
            lambda logits, baseline, chosen, cost: (baseline * logits[chosen], baseline**2),
            "yours is tuple, expected a tensor … Return the sum of both terms.",
        ),
    },
    "six_estimators.2": {
        "softmax for all": (one_for_all("softmax"), "100 samples … all bias, 0.27"),
        "straight-through": (one_for_all("straight-through"), "1 sample … all bias, 1.3"),
        "unbiased for all": (
            one_for_all("with baseline"),
            "1 sample … It has no bias, but a spread of 2.8",
        ),
        "without a baseline": (one_for_all("REINFORCE"), "A baseline takes spread away"),
        "hot": (gumbel(4.0), "100 samples … at temperature 4 … mostly bias, 0.76"),
        "cold": (gumbel(0.125), "100 samples … mostly spread, 3.8 a sample"),
        "a name alone": (lambda samples: "softmax", "return a name and a temperature"),
        "another name": (one_for_all("gumbel"), "there is no 'gumbel', only 'softmax'"),
        "temperature 0": (one_for_all("softmax", 0), "from 0.05 to 20 is expected, got 0"),
    },
}
