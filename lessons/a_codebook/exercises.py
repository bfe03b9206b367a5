"""Checks on a codebook: its losses, and its dead codes."""

import torch
import torch.nn.functional as F

from lessons.asking.answers import call_answer, expect_close
from lessons.asking.arguments import random_tensors
from lessons.asking.registry import Wrong, check_of

float32, float64 = torch.float32, torch.float64

Z = torch.tensor([[0.5, 0.25], [3.0, 0.5], [4.5, 0.5]])
CODES = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [4.0, 2.0]])


@check_of(
    "a_codebook.1",
    "Each loss moves what it should.",
    inputs=[(Z, CODES, 0.25), (*random_tensors(0, (8, 3), (6, 3)), 0.75)],
)
def check_layer(answer, z, codes, beta):
    z, codes = z.clone().requires_grad_(), codes.clone().requires_grad_()
    result = call_answer(answer, z, codes, beta)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise Wrong(f"needs to return y and the loss, got {type(result).__name__}.")
    y, loss = result
    _expect_y(y, z, codes)
    _expect_loss(loss, z, codes, beta)


def _expect_y(y, z, codes):
    q = codes[_nearest(z, codes)].detach()
    product = (z @ codes.T).argmax(1)
    mistakes = {
        "That is z.": z.detach(),
        "The code is chosen by the largest product, expected by the distance.": codes[product],
    }
    expect_close("y", y, q, mistakes)
    upstream = (torch.arange(z.numel()) % 5 - 2.5).to(z.dtype).reshape(z.shape)
    of_z, of_codes = _gradients((y * upstream).sum(), z, codes)
    mistakes = {"The sign is turned: z is subtracted outside of detach().": -upstream}
    why = "Let the gradient of y pass q unchanged, straight through."
    expect_close("gradient with respect to z, through y", of_z, upstream, mistakes, why)
    if of_codes is not None:
        raise Wrong(
            f"gradient with respect to codes, through y: yours {of_codes[0].tolist()} for code "
            "0, expected "
            "None. The decoder's loss moves the codes, too: detach the whole difference."
        )


def _expect_loss(loss, z, codes, beta):
    q = codes[_nearest(z, codes)]
    of_z, of_codes = _gradients(F.mse_loss(z, q), z, codes)
    distance = F.mse_loss(z, q).detach()
    mistakes = {
        "The commitment loss is missing.": distance,
        "The codebook loss is missing.": beta * distance,
        "beta is missing.": 2 * distance,
        "beta multiplies both terms.": 2 * beta * distance,
    }
    expect_close("loss", loss, (1 + beta) * distance, mistakes)
    yours_z, yours_codes = _gradients(loss, z, codes)
    why = "The codebook loss needs q itself: neither q.detach(), nor y, where it is detached."
    mistakes = {
        "There, beta multiplies the codebook loss instead of the commitment loss.": beta * of_codes,
        "The commitment loss moves the codes, too: detach q there.": (1 + beta) * of_codes,
    }
    where = "gradient with respect to codes, through the loss"
    expect_close(where, yours_codes, of_codes, mistakes, why)
    mistakes = {"The codebook loss moves z, too: detach z there.": (1 + beta) * of_z}
    expect_close("gradient with respect to z, through the loss", yours_z, beta * of_z, mistakes)


def _nearest(z, codes):
    return torch.cdist(z.detach(), codes.detach()).argmin(1)


def _gradients(of, z, codes):
    if not of.requires_grad:
        return None, None
    return torch.autograd.grad(of, (z, codes), allow_unused=True, retain_graph=True)


@check_of(
    "a_codebook.2",
    "The same parameter, and each dead code has a place where a vector is.",
    inputs=[((8, 2), (8, 2), float32), ((10, 3), (6, 3), float64)],
)
def check_revive(answer, of_z, of_codes, dtype):
    images, codes = random_tensors(0, of_z, of_codes, dtype=dtype)
    z, before = 2 * images.requires_grad_(), 9 + codes
    before[[1, 4]] = z[[0, 5]].detach()
    codes, index = torch.nn.Parameter(before.clone()), _nearest(z, before)
    used = index.unique().tolist()
    try:
        call_answer(answer, codes, z, index, needs_result=False)
    except RuntimeError as error:
        if "a leaf Variable that requires grad" not in str(error):
            raise
        raise Wrong(f"{error} Write into codes while recording is off.") from None
    if codes.grad_fn is not None:
        raise Wrong("codes has a grad_fn now: it is not a leaf any more. Recording has to be off.")
    if not codes.requires_grad:
        raise Wrong(
            "codes.requires_grad is False now, so no gradient will train the codes any more. "
            "`with torch.no_grad():` lets you write and leaves codes as it is."
        )
    dead = [k for k in range(len(codes)) if k not in used]
    if torch.equal(codes, before):
        raise Wrong(
            "codes is as it was. The optimizer knows this tensor alone, so write into it, instead "
            "of returning another."
        )
    for k in used:
        if not torch.equal(codes[k], before[k]):
            raise Wrong(f"code {k} is in use, and yours has moved it. Move the other codes.")
    z, revived = z.detach(), codes.detach()[dead]
    for k, code in zip(dead, revived, strict=True):
        if not (code == z).all(1).any():
            place = [round(number, 2) for number in code.tolist()]
            why = "Such a code may be far from every z."
            raise Wrong(f"code {k}: yours is at {place}, which is no vector of z.", why)
    if len(revived.unique(dim=0)) < len(revived):
        raise Wrong(
            "dead codes got the same vector: only one of them can be the nearest. torch.randperm "
            "draws each number once."
        )
