"""Right and wrong answers on a codebook."""

import torch
import torch.nn.functional as F


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


RIGHT = {
    "a_codebook.1": {
        "a copy of q's value": layer(right, through=value_of_q),
        "rows by an embedding": by_embedding,
    },
    "a_codebook.2": {
        "by a mask": by_a_mask,
        "the first vectors": places(lambda codes, z, dead: z[: len(dead)]),
    },
}

WRONG = {
    "a_codebook.1": {
        "as it was": (
            broken,
            "gradient with respect to codes, through y: yours [-2.5, -1.5] … expected None",
        ),
        "no straight-through": (
            layer(right, through=lambda z, q: q),
            "gradient with respect to z, through y: yours is NoneType … straight through",
        ),
        "not quantized": (
            layer(right, through=lambda z, q: z),
            "y, entry [0, 0]: yours 0.5 … That is z.",
        ),
        "z detached instead": (
            layer(right, through=lambda z, q: z.detach() + q - z),
            "respect to z, through y, entry [0, 0]: yours 2.5, expected -2.5 … The sign is turned",
        ),
        "beta weighs the codebook loss": (
            layer(
                lambda z, q, y, beta: beta * F.mse_loss(q, z.detach()) + F.mse_loss(z, q.detach())
            ),
            "codes, through the loss, entry [0, 0]: … beta multiplies the codebook loss",
        ),
        "a loss of y": (
            layer(
                lambda z, q, y, beta: F.mse_loss(y, z.detach()) + beta * F.mse_loss(z, q.detach())
            ),
            "gradient with respect to codes, through the loss: yours is NoneType … needs q itself",
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
        "by the product": (
            chosen_by(lambda z, codes: (z @ codes.T).argmax(1)),
            "y [ … chosen by the largest product",
        ),
        "only y": (lambda z, codes, beta: z, "needs to return y and the loss, got Tensor."),
    },
    "a_codebook.2": {
        "while recording": (recorded, "a leaf Variable that requires grad … recording is off"),
        "another parameter": (another_parameter, "codes is as it was. The optimizer knows"),
        "the codes in use": (the_used_ones, "code 1 is in use"),
        "one vector for all": (
            places(lambda codes, z, dead: z[0]),
            "dead codes got the same vector",
        ),
        "random numbers": (
            places(lambda codes, z, dead: torch.randn(len(dead), 2)),
            "which is no vector of z … may be far",
        ),
        "a grad_fn": (not_a_leaf, "codes has a grad_fn now"),
        "frozen": (frozen, "codes.requires_grad is False now … torch.no_grad()"),
    },
}
