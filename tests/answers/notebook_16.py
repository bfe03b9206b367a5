"""Right and wrong answers to the exercises on training through a choice."""

import torch
import torch.nn.functional as F


def step_loss(in_product=lambda a: a, in_square=lambda a: a, of_policy=lambda p: p):
    """The loss of exercise 12.1, with something done to the advantage in each of its places."""

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


def divided(logits, baseline, chosen, cost):
    advantage = cost - baseline
    return (advantage / advantage.detach()) * logits.log_softmax(-1)[chosen] + advantage**2


def one_for_all(name, temperature=1.0):
    return lambda samples: (name, temperature)


def gumbel(temperature):
    """Right for one sample, and Gumbel-softmax of this temperature for more."""
    return lambda samples: ("softmax", 1.0) if samples == 1 else ("Gumbel hard", temperature)


def nearest(z, codes):
    return torch.cdist(z, codes).argmin(1)


def broken(z, codes, beta):
    q = codes[nearest(z, codes)]
    y = z + q - z.detach()
    return y, beta * F.mse_loss(y, z.detach()) + F.mse_loss(z, q.detach())


def straight(z, q):
    return z + (q - z).detach()


def layer(loss, through=straight):
    """The layer with this loss of (z, q, y, beta)."""

    def quantize(z, codes, beta):
        q = codes[nearest(z, codes)]
        y = through(z, q)
        return y, loss(z, q, y, beta)

    return quantize


def chosen_by(choose):
    """The right layer, but for the code that is chosen."""

    def quantize(z, codes, beta):
        q = codes[choose(z, codes)]
        return straight(z, q), right(z, q, None, beta)

    return quantize


def right(z, q, y, beta):
    return F.mse_loss(q, z.detach()) + beta * F.mse_loss(z, q.detach())


def z_not_detached(z, q, y, beta):
    return F.mse_loss(q, z) + beta * F.mse_loss(z, q.detach())


def dead_of(codes, index):
    used = torch.zeros(len(codes), dtype=torch.bool)
    used[index] = True
    return (~used).nonzero()[:, 0]


def places(move):
    """Write move(codes, z, dead) into the dead codes."""

    def revive(codes, z, index):
        dead = dead_of(codes, index)
        with torch.no_grad():
            codes[dead] = move(codes, z, dead)

    return revive


def recorded(codes, z, index):
    dead = dead_of(codes, index)
    codes[dead] = z[torch.randperm(len(z))[: len(dead)]]


def another_parameter(codes, z, index):
    codes = codes.detach().clone()
    recorded(codes, z.detach(), index)
    return torch.nn.Parameter(codes)


def the_used_ones(codes, z, index):
    used = index.unique()
    with torch.no_grad():
        codes[used] = z.flip(0)[: len(used)]  # by chance, a random row would be the code itself


def not_a_leaf(codes, z, index):
    codes.requires_grad_(False)
    recorded(codes, z, index)


def frozen(codes, z, index):
    not_a_leaf(codes, z.detach(), index)


# ---- right ones, besides the folded solution


def value_of_q(z, q):
    y = z.clone()
    y.detach().copy_(q)
    return y


def by_embedding(z, codes, beta):
    q = torch.nn.functional.embedding(nearest(z, codes), codes)
    return straight(z, q), right(z, q, None, beta)


def by_a_mask(codes, z, index):
    dead = torch.ones(len(codes), dtype=torch.bool)
    dead[index] = False
    with torch.no_grad():
        codes[dead] = z[torch.randperm(len(z))[: dead.sum()]]


def one_code_at_a_time(codes, z, index):
    rows = torch.randperm(len(z)).tolist()
    with torch.no_grad():
        for k in set(range(len(codes))) - set(index.tolist()):
            codes[k] = z[rows.pop()]


def through_data(codes, z, index):
    dead = dead_of(codes, index)
    codes.data[dead] = z.detach()[torch.randperm(len(z))[: len(dead)]]


def by_number(logits, baseline, chosen, cost):
    advantage = cost - baseline
    return advantage.item() * logits.log_softmax(-1)[chosen] + advantage**2


def with_cross_entropy(logits, baseline, chosen, cost):
    surprise = torch.nn.functional.cross_entropy(logits, torch.tensor(chosen))
    return (baseline.detach() - cost) * surprise + (baseline - cost).square()


def by_ratio(logits, baseline, chosen, cost):
    log_p = logits.log_softmax(-1)[chosen]
    advantage = cost - baseline
    return (log_p - log_p.detach()).exp() * advantage.detach() + advantage.square()


def gumbel_at(name, temperature):
    for_each = {1: ["softmax", 1], 100: (name, temperature), 10_000: ("with baseline", 0.5)}
    return for_each.get


RIGHT = {
    "16.1": {
        "a plain number": by_number,
        "with cross_entropy": with_cross_entropy,
        "by a ratio of 1": by_ratio,
    },
    "16.2": {
        "soft": gumbel_at("Gumbel soft", 0.25),
        "soft and warmer": gumbel_at("Gumbel soft", 0.5),
        "hard": gumbel_at("Gumbel hard", 0.5),
        "hard, between the usual temperatures": gumbel_at("Gumbel hard", 0.4),
    },
    "16.3": {
        "a copy of q's value": layer(right, through=value_of_q),
        "z last": layer(right, through=lambda z, q: (q - z).detach() + z),
        "squares by hand": layer(
            lambda z, q, y, beta: (
                ((q - z.detach()) ** 2).mean() + beta * ((q.detach() - z) ** 2).mean()
            )
        ),
        "rows by an embedding": by_embedding,
        "a list": lambda z, codes, beta: list(by_embedding(z, codes, beta)),
    },
    "16.4": {
        "by a mask": by_a_mask,
        "one by one": one_code_at_a_time,
        "through .data": through_data,
        "the first vectors": places(lambda codes, z, dead: z[: len(dead)]),
    },
}

WRONG = {
    "16.1": {
        "nothing detached": (
            step_loss(),
            "baseline: yours -4.1118, expected -6 … 1.888 of it comes through the product",
        ),
        "the policy": (step_loss(of_policy=detached), "logits get no gradient"),
        "both": (step_loss(detached, detached), "baseline gets no gradient, so it never learns"),
        "the square": (
            step_loss(in_square=detached),
            "gradient of baseline: yours 1.8 … Only advantage ** 2 may reach it",
        ),
        "all three": (
            step_loss(detached, detached, detached),
            "has no graph: everything in it is detached",
        ),
        "no baseline": (without_baseline, "The cost itself is there: subtract the baseline"),
        "a reward": (rewarded, "The sign is turned"),
        "half the square": (halved, "yours -3, expected -6 … The square is halved"),
        "divided by itself": (divided, "The advantage has become 1"),
        "the probability": (
            step_loss(detached, of_policy=torch.exp),
            "gradient of logits [0]: yours -0.1455, expected -0.9612 … keep its logarithm",
        ),
        "two losses": (
            lambda logits, baseline, chosen, cost: (baseline * logits[chosen], baseline**2),
            "yours is a tuple. Return the sum of both terms.",
        ),
        "of each option": (
            lambda logits, baseline, chosen, cost: (cost - baseline) * logits.log_softmax(-1),
            "has shape (3,), expected ()",
        ),
    },
    "16.2": {
        "softmax for all": (one_for_all("softmax"), "100 samples … all bias, 0.27"),
        "straight-through": (one_for_all("straight-through"), "1 sample … all bias, 1.3"),
        "unbiased for all": (
            one_for_all("with baseline"),
            "1 sample … It has no bias, but a spread of 2.8",
        ),
        "without a baseline": (one_for_all("REINFORCE"), "A baseline takes spread away"),
        "the wrong way round": (
            lambda samples: ("with baseline", 1.0) if samples == 1 else ("softmax", 1.0),
            "1 sample: yours, 'with baseline'",
        ),
        "hot": (gumbel(4.0), "100 samples … at temperature 4 … mostly bias, 0.76"),
        "cold": (gumbel(0.125), "100 samples … mostly spread, 3.8 a sample"),
        "half right": (gumbel(0.5), "10,000 samples … mostly bias"),
        "a name alone": (lambda samples: "softmax", "return a name and a temperature"),
        "another name": (one_for_all("gumbel"), "there is no 'gumbel', only 'softmax'"),
        "temperature 0": (one_for_all("softmax", 0), "from 0.05 to 20 is expected, got 0"),
        "a tensor": (one_for_all("softmax", torch.tensor(1.0)), "got tensor(1.)"),
    },
    "16.3": {
        "as it was": (broken, "gradient of codes, through y: yours [-2.5, -1.5] … expected None"),
        "no straight-through": (
            layer(right, through=lambda z, q: q),
            "gradient of z, through y: yours None",
        ),
        "y detached": (layer(right, through=lambda z, q: q.detach()), "No path leads from y"),
        "not quantized": (layer(right, through=lambda z, q: z), "y [0, 0]: yours 0.5 … That is z."),
        "z detached instead": (
            layer(right, through=lambda z, q: z.detach() + q - z),
            "gradient of z, through y [0, 0]: yours 2.5, expected -2.5 … The sign is turned",
        ),
        "half of the gradient": (
            layer(right, through=lambda z, q: z / 2 + (q - z / 2).detach()),
            "gradient of z, through y [0, 0]: yours -1.25, expected -2.5",
        ),
        "beta weighs the codebook loss": (
            layer(
                lambda z, q, y, beta: beta * F.mse_loss(q, z.detach()) + F.mse_loss(z, q.detach())
            ),
            "gradient of codes, through the loss [0, 0]: … beta multiplies the codebook loss.",
        ),
        "a loss of y": (
            layer(
                lambda z, q, y, beta: F.mse_loss(y, z.detach()) + beta * F.mse_loss(z, q.detach())
            ),
            "gradient of codes, through the loss: yours None … behind the detach",
        ),
        "q detached for both": (
            layer(lambda z, q, y, beta: right(z, q.detach(), y, beta)),
            "gradient of codes, through the loss: yours None … needs q itself: neither q.detach()",
        ),
        "the commitment moves the codes, too": (
            layer(lambda z, q, y, beta: F.mse_loss(q, z.detach()) + beta * F.mse_loss(z, q)),
            "The commitment loss moves the codes, too",
        ),
        "the codebook loss moves z, too": (layer(z_not_detached), "The codebook loss moves z, too"),
        "no commitment": (
            layer(lambda z, q, y, beta: F.mse_loss(q, z.detach())),
            "The commitment loss is missing.",
        ),
        "only the commitment": (
            layer(lambda z, q, y, beta: beta * F.mse_loss(z, q.detach())),
            "The codebook loss is missing.",
        ),
        "no beta": (layer(lambda z, q, y, beta: right(z, q, y, 1)), "beta is missing."),
        "beta twice": (
            layer(lambda z, q, y, beta: beta * right(z, q, y, 1)),
            "beta multiplies both terms.",
        ),
        "summed": (
            layer(lambda z, q, y, beta: z.numel() * right(z, q, y, beta)),
            "Take the mean of the squares",
        ),
        "beta is 0.25": (
            layer(lambda z, q, y, beta: right(z, q, y, 0.25)),
            "loss: yours … expected",
        ),
        "by another distance": (
            chosen_by(lambda z, codes: torch.cdist(z, codes, p=1).argmin(1)),
            "y [ … chosen by the sum of the differences",
        ),
        "by the product": (
            chosen_by(lambda z, codes: (z @ codes.T).argmax(1)),
            "y [ … chosen by the largest product",
        ),
        "by the angle": (
            chosen_by(lambda z, codes: (F.normalize(z) @ F.normalize(codes).T).argmax(1)),
            "y [ … chosen by the angle",
        ),
        "by the largest difference": (
            chosen_by(lambda z, codes: torch.cdist(z, codes, p=torch.inf).argmin(1)),
            "y [ … chosen by the largest of the differences",
        ),
        "only y": (lambda z, codes, beta: z, "needs to return y and the loss, got Tensor."),
    },
    "16.4": {
        "while recording": (recorded, "a leaf Variable that requires grad … recording is off"),
        "another parameter": (another_parameter, "codes is as it was. The optimizer knows"),
        "the codes in use": (the_used_ones, "code 1 is in use"),
        "one vector for all": (
            places(lambda codes, z, dead: z[0]),
            "all dead codes got the same vector",
        ),
        "drawn with replacement": (
            places(lambda codes, z, dead: z[torch.randint(len(z), (len(dead),))]),
            "some dead codes got the same vector",
        ),
        "the mean": (places(lambda codes, z, dead: z.mean(0)), "That is the mean of all z."),
        "beside a vector": (
            places(lambda codes, z, dead: z[: len(dead)] * 1.001),
            "which is no vector of z",
        ),
        "random numbers": (
            places(lambda codes, z, dead: torch.randn(len(dead), 2)),
            "which is no vector of z. It may be far",
        ),
        "a grad_fn": (not_a_leaf, "codes has a grad_fn now"),
        "frozen": (frozen, "codes.requires_grad is False now … torch.no_grad()"),
        "the call": (3, "needs the function itself, got int."),
    },
}
