"""Exercises on training through a choice: a codebook with three bugs, and its dead codes."""

import torch
import torch.nn.functional as F

from helpers.lessons.exercises.answers import call_answer, expect_close
from helpers.lessons.exercises.exercise import Exercise, NotDone, Wrong

Z = torch.tensor([[0.5, 0.25], [3.0, 0.5], [4.5, 0.5]])
CODES = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [4.0, 2.0]])
UPSTREAM = torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 2.0]])
BETA = 0.25


def _check_layer(answer):
    z, codes = Z.clone().requires_grad_(), CODES.clone().requires_grad_()
    result = call_answer(answer, z, codes, BETA)
    if not isinstance(result, tuple) or len(result) != 2:
        raise Wrong(f"needs to return y and the loss, got {type(result).__name__}.")
    y, loss = result
    _expect_y(y, z, codes)
    _expect_loss(loss, z, codes)


def _expect_y(y, z, codes):
    expect_close("y", y, CODES[_nearest(Z, CODES)], {"That is z.": Z})
    of_z, of_codes = _gradients((y * UPSTREAM).sum(), z, codes)
    if of_z is None:
        why = "No path leads from y back to z: let the gradient pass q, straight through."
        raise Wrong(f"gradient of z, through y: yours None, expected that of y. {why}")
    expect_close("gradient of z, through y", of_z, UPSTREAM)
    if of_codes is not None:
        raise Wrong(
            f"gradient of codes, through y: yours {of_codes[0].tolist()} for code 0, expected "
            "None. The decoder's loss moves the codes, too: detach the whole difference."
        )


def _expect_loss(loss, z, codes):
    q = codes[_nearest(Z, CODES)]
    of_z, of_codes = _gradients(F.mse_loss(z, q), z, codes)
    distance = F.mse_loss(z, q).detach()
    expect_close(
        "loss",
        loss,
        (1 + BETA) * distance,
        {
            "The commitment loss is missing.": distance,
            "The codebook loss is missing.": BETA * distance,
            "beta is missing.": 2 * distance,
            "beta multiplies both terms.": 2 * BETA * distance,
            "Take the mean of the squares, not their sum.": (1 + BETA) * distance * Z.numel(),
        },
    )
    yours_z, yours_codes = _gradients(loss, z, codes)
    if yours_codes is None:
        raise Wrong(
            "gradient of codes, through the loss: yours None, expected a tensor. A loss of y "
            "never reaches the codes: they stand behind the detach of y."
        )
    expect_close(
        "gradient of codes, through the loss",
        yours_codes,
        of_codes,
        {
            "beta multiplies the codebook loss.": BETA * of_codes,
            "The commitment loss moves the codes, too: detach q there.": (1 + BETA) * of_codes,
        },
    )
    if yours_z is None:
        raise Wrong("gradient of z, through the loss: yours None. Nothing commits z to its code.")
    expect_close(
        "gradient of z, through the loss",
        yours_z,
        BETA * of_z,
        {"The codebook loss moves z, too: detach z there.": (1 + BETA) * of_z},
    )


def _nearest(z, codes):
    return torch.cdist(z, codes).argmin(1)


def _gradients(of, z, codes):
    if not of.requires_grad:
        return None, None
    return torch.autograd.grad(of, (z, codes), allow_unused=True, retain_graph=True)


def _check_revive(answer):
    if answer is ...:
        raise NotDone
    if not callable(answer):
        raise Wrong(f"needs the function itself, got {type(answer).__name__}.")
    for seed in range(5):
        _revive_once(answer, torch.Generator().manual_seed(seed))


def _revive_once(answer, generator):
    images = torch.randn(8, 2, generator=generator, requires_grad=True)
    z, before = 2 * images, 9 + torch.randn(8, 2, generator=generator)
    before[[1, 4]] = z[[0, 5]].detach()
    codes, index = before.clone().requires_grad_(), _nearest(z, before)
    used = index.unique().tolist()
    try:
        result = answer(codes, z, index)
    except RuntimeError as error:
        if "a leaf Variable that requires grad" not in str(error):
            raise
        raise Wrong(f"{error} Write into codes while recording is off.") from None
    if result is ...:
        raise NotDone
    if codes.grad_fn is not None:
        raise Wrong("codes has a grad_fn now: it is not a leaf any more. Recording has to be off.")
    dead = [k for k in range(len(codes)) if k not in used]
    if torch.equal(codes, before):
        raise Wrong(
            "codes is as it was. The optimizer knows this tensor alone, so write into it, instead "
            "of returning another."
        )
    for k in used:
        if not torch.equal(codes[k], before[k]):
            raise Wrong(f"code {k} is in use, and yours has moved it. Move the other codes.")
    _expect_vectors_of(z.detach(), codes.detach()[dead], dead)


def _expect_vectors_of(z, revived, dead):
    for k, code in zip(dead, revived, strict=True):
        if not (code == z).all(1).any():
            mean = torch.allclose(code, z.mean(0))
            why = "That is the mean of all z." if mean else "Nothing tells that any z comes there."
            place = [round(number, 2) for number in code.tolist()]
            raise Wrong(f"code {k}: yours is at {place}, which is no vector of z. {why}")
    if len(revived.unique(dim=0)) < len(revived):
        same = "all dead codes" if len(revived.unique(dim=0)) == 1 else "some dead codes"
        raise Wrong(
            f"{same} got the same vector: only one of them can be the nearest. torch.randperm "
            "draws each number once."
        )


EXERCISES = (
    Exercise(
        "12.3",
        "A codebook with three bugs",
        8,
        "`broken`, in the cell below, is the layer of a VQ-VAE: it returns y, which goes to the "
        "decoder, and the loss of the codebook. The value of both is right. It has three bugs, "
        "all from public implementations. Write `repaired`.",
        (
            "Draw the paths back from y: which tensors do they lead to? To z alone is right.",
            "Draw the paths back from each of the two losses. The codebook loss leads to `codes` "
            "alone, the commitment loss to z alone.",
            "The whole difference is detached in y. The losses compare z with q, not with y, and "
            "beta weighs the one that moves z.",
        ),
        _check_layer,
        "Each loss moves what it should.",
    ),
    Exercise(
        "12.4",
        "Revive the dead codes",
        6,
        "Write `revive(codes, z, index)`. `codes` is a parameter of an optimizer, z the vectors of "
        "a batch, and `index` has the code that is nearest to each of them. Move each code that no "
        "vector chose to a vector of the batch, another one for each code; z has enough of them. "
        "The codes in use stay where they are. Return nothing.",
        (
            "A mask of codes that are in use: start with zeros, and write True at `index`.",
            "`torch.randperm(len(z))[:n]` draws n different rows.",
            "`with torch.no_grad():` and then `codes[dead] = ...`",
        ),
        _check_revive,
        "The same parameter, and each dead code has a place where a vector is.",
    ),
)
