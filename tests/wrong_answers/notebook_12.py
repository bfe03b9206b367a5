"""Wrong answers to the exercises on training through a choice."""

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


def right(z, q, y, beta):
    return F.mse_loss(q, z.detach()) + beta * F.mse_loss(z, q.detach())


def swapped(z, q, y, beta):
    return beta * F.mse_loss(q, z.detach()) + F.mse_loss(z, q.detach())


def behind_the_patch(z, q, y, beta):
    return F.mse_loss(y, z.detach()) + beta * F.mse_loss(z, q.detach())


def codes_not_detached(z, q, y, beta):
    return F.mse_loss(q, z.detach()) + beta * F.mse_loss(z, q)


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


def all_of_them(codes, z, index):
    with torch.no_grad():
        codes.copy_(z[torch.randperm(len(z))[: len(codes)]])


def the_used_ones(codes, z, index):
    used = index.unique()
    with torch.no_grad():
        codes[used] = z[torch.randperm(len(z))[: len(used)]]


def not_a_leaf(codes, z, index):
    codes.requires_grad_(False)
    recorded(codes, z, index)


WRONG = {
    "12.3": {
        "as it was": (broken, "gradient of codes, through y: yours [1.0, -2.0] … expected None"),
        "no straight-through": (
            layer(right, through=lambda z, q: q),
            "gradient of z, through y: yours None",
        ),
        "y detached": (layer(right, through=lambda z, q: q.detach()), "No path leads from y"),
        "not quantized": (layer(right, through=lambda z, q: z), "y [0, 0]: yours 0.5 … That is z."),
        "half of the gradient": (
            layer(right, through=lambda z, q: z / 2 + (q - z / 2).detach()),
            "gradient of z, through y [0, 0]: yours 0.5, expected 1",
        ),
        "beta weighs the codebook loss": (
            layer(swapped),
            "gradient of codes, through the loss [0, 0]: … beta multiplies the codebook loss.",
        ),
        "a loss of y": (
            layer(behind_the_patch),
            "gradient of codes, through the loss: yours None … behind the detach",
        ),
        "the commitment moves the codes, too": (
            layer(codes_not_detached),
            "The commitment loss moves the codes, too",
        ),
        "the codebook loss moves z, too": (
            layer(z_not_detached),
            "The codebook loss moves z, too",
        ),
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
        "only y": (lambda z, codes, beta: z, "needs to return y and the loss, got Tensor."),
    },
    "12.4": {
        "while recording": (recorded, "a leaf Variable that requires grad … recording is off"),
        "another parameter": (another_parameter, "codes is as it was. The optimizer knows"),
        "all codes": (all_of_them, "is in use, and yours has moved it"),
        "one vector for all": (
            places(lambda codes, z, dead: z[0]),
            "all dead codes got the same vector",
        ),
        "drawn with replacement": (
            places(lambda codes, z, dead: z[torch.randint(len(z), (len(dead),))]),
            "some dead codes got the same vector",
        ),
        "the mean": (places(lambda codes, z, dead: z.mean(0)), "That is the mean of all z."),
        "random numbers": (
            places(lambda codes, z, dead: torch.randn(len(dead), 2)),
            "which is no vector of z. Nothing tells",
        ),
        "a grad_fn": (not_a_leaf, "codes has a grad_fn now"),
        "the call": (3, "needs the function itself, got int."),
    },
}
WRONG["12.4"]["the codes in use"] = (the_used_ones, "code 1 is in use")
