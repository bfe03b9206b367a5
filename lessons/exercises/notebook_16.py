"""Checks on training through a choice: a detach, an estimator, a codebook."""

from functools import lru_cache

import torch
import torch.nn.functional as F

from autograd_surprises.numerics import short_number
from lessons.choices import DETERMINISTIC, ESTIMATORS, UNBIASED, bias_and_spread, estimates
from lessons.exercises.answers import call_answer, expect_close, expect_tensor
from lessons.exercises.arguments import random_tensors
from lessons.exercises.registry import NotDone, Wrong, check_of

float32, float64 = torch.float32, torch.float64


@check_of(
    "16.1",
    "The policy learns from the product, the baseline from the square.",
    inputs=[
        ([0.5, -0.25, 1.0], 2.0, 1, 5.0, float64),
        ([-1.0, 0.75, 0.25], 3.0, 0, 2.5, float64),
        ([0.0, 2.0, -0.5], -1.0, 2, 1.5, float64),
        ([0.25, -1.5, 1.0, 0.5, -0.75], 0.5, 3, -2.0, float32),
    ],
)
def check_step_loss(answer, logits, baseline, chosen, cost, dtype):
    logits = torch.tensor(logits, dtype=dtype, requires_grad=True)
    baseline = torch.tensor(baseline, dtype=dtype, requires_grad=True)
    where = f"repaired_step_loss(logits, {baseline:g}, {chosen}, {cost:g})"
    loss = call_answer(answer, logits, baseline, chosen, cost)
    if isinstance(loss, (tuple, list)):
        raise Wrong(f"{where}: yours is a {type(loss).__name__}. Return the sum of both terms.")
    expect_tensor(where, loss, torch.Size(()))
    if not loss.requires_grad:
        raise Wrong(f"{where} has no graph: everything in it is detached.")
    of_logits, of_baseline = torch.autograd.grad(loss, (logits, baseline), allow_unused=True)
    if of_logits is None:
        raise Wrong(
            f"{where}: logits get no gradient. log_probability is what carries it: detach the "
            "factor beside it."
        )
    if of_baseline is None:
        raise Wrong(
            f"{where}: baseline gets no gradient, so it never learns the mean cost. Detach the "
            "advantage in the product alone, not in the square."
        )
    log_probabilities = logits.detach().log_softmax(-1)
    log_probability, advantage = log_probabilities[chosen], cost - baseline.detach()
    direction = torch.eye(len(logits), dtype=dtype)[chosen] - log_probabilities.exp()
    gradient = advantage * direction
    mistakes = {
        "The sign is turned: a high cost has to make the choice less likely.": -gradient,
        "The cost itself is there: subtract the baseline.": direction * cost,
        "The advantage has become 1: detach it, but keep its value.": direction,
        "That is the gradient of the probability: keep its logarithm.": (
            gradient * log_probability.exp()
        ),
    }
    expect_close(f"{where}: gradient of logits", of_logits, gradient, mistakes)
    mistakes = {
        f"{-log_probability:.4g} of it comes through the product with log_probability: the "
        "baseline has to learn from advantage ** 2 alone.": -2 * advantage - log_probability,
        "The square is halved: keep advantage ** 2.": -advantage,
    }
    why = "Only advantage ** 2 may reach it: -2 · (cost - baseline)."
    expect_close(f"{where}: gradient of baseline", of_baseline, -2 * advantage, mistakes, why)


TEMPERATURES = 0.125, 0.25, 0.5, 1.0, 2.0, 4.0
TOLERANCE = 1.15


@check_of(
    "16.2",
    "With few samples the spread decides, with many the bias.",
    inputs=[("1 sample", 1), ("100 samples", 100), ("10,000 samples", 10_000)],
)
def check_choice(answer, where, samples):
    choice = call_answer(answer, samples)
    if not isinstance(choice, (tuple, list)) or len(choice) != 2:
        raise Wrong(f"{where}: return a name and a temperature, got {choice!r}.")
    name, temperature = choice
    if name is ... or temperature is ...:
        raise NotDone
    if name not in ESTIMATORS:
        names = ", ".join(map(repr, ESTIMATORS))
        raise Wrong(f"{where}: there is no {name!r}, only {names}.")
    if not isinstance(temperature, (int, float)) or not 0.05 <= temperature <= 20:
        raise Wrong(f"{where}: a temperature from 0.05 to 20 is expected, got {temperature!r}.")
    temperature = float(temperature)
    error = _error(name, temperature, samples)
    most = TOLERANCE * min(_error(e, t, samples) for e in ESTIMATORS for t in TEMPERATURES)
    if error > most:
        raise Wrong(
            f"{where}: yours, {name!r} at temperature {temperature:g}, has an error of "
            f"{short_number(error, 2)}, expected at most {short_number(most, 2)}. "
            f"{_why_not(name, temperature, samples)}"
        )


def _error(name, temperature, samples):
    bias, spread = _measured(name, temperature)
    return (bias**2 + spread**2 / samples) ** 0.5


@lru_cache(maxsize=64)
def _measured(name, temperature):
    if name in UNBIASED and temperature != 1.0:  # there it changes nothing
        return _measured(name, 1.0)
    samples = 1 if name in DETERMINISTIC else 20_000
    bias, spread = bias_and_spread(estimates(name, temperature, samples))
    return 0.0 if name in UNBIASED else bias, spread


def _why_not(name, temperature, samples):
    bias, spread = _measured(name, temperature)
    if name == "REINFORCE":
        return "A baseline takes spread away and adds no bias."
    if name == "with baseline":
        return f"It has no bias, but a spread of {spread:.2g}: too much for so few samples."
    if name in DETERMINISTIC:
        return f"It is all bias, {bias:.2g}, and no number of samples makes that smaller."
    if bias > spread / samples**0.5:
        return f"It is mostly bias, {bias:.2g}: so many samples allow a lower temperature, or none."
    return f"It is mostly spread, {spread:.2g} a sample: a higher temperature has less."


Z = torch.tensor([[0.5, 0.25], [3.0, 0.5], [4.5, 0.5]])
CODES = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [4.0, 2.0]])


@check_of(
    "16.3",
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
    mistakes = {"That is z.": z.detach()}
    for distance, index in _other_choices(z.detach(), codes.detach()).items():
        mistakes[f"The code is chosen by {distance}, expected by the distance."] = codes[index]
    expect_close("y", y, q, mistakes)
    upstream = (torch.arange(z.numel()) % 5 - 2.5).to(z.dtype).reshape(z.shape)
    of_z, of_codes = _gradients((y * upstream).sum(), z, codes)
    if of_z is None:
        why = "No path leads from y back to z: let the gradient pass q, straight through."
        raise Wrong(f"gradient of z, through y: yours None, expected that of y. {why}")
    turned = "The sign is turned: z is subtracted outside of detach()."
    expect_close("gradient of z, through y", of_z, upstream, {turned: -upstream})
    if of_codes is not None:
        raise Wrong(
            f"gradient of codes, through y: yours {of_codes[0].tolist()} for code 0, expected "
            "None. The decoder's loss moves the codes, too: detach the whole difference."
        )


def _other_choices(z, codes):
    """The codes that are chosen by something else than the Euclidean distance."""
    return {
        "the largest product": (z @ codes.T).argmax(1),
        "the angle": (F.normalize(z) @ F.normalize(codes).T).argmax(1),
        "the sum of the differences": torch.cdist(z, codes, p=1).argmin(1),
        "the largest of the differences": torch.cdist(z, codes, p=torch.inf).argmin(1),
    }


def _expect_loss(loss, z, codes, beta):
    q = codes[_nearest(z, codes)]
    of_z, of_codes = _gradients(F.mse_loss(z, q), z, codes)
    distance = F.mse_loss(z, q).detach()
    mistakes = {
        "The commitment loss is missing.": distance,
        "The codebook loss is missing.": beta * distance,
        "beta is missing.": 2 * distance,
        "beta multiplies both terms.": 2 * beta * distance,
        "Take the mean of the squares, not their sum.": (1 + beta) * distance * z.numel(),
    }
    expect_close("loss", loss, (1 + beta) * distance, mistakes)
    yours_z, yours_codes = _gradients(loss, z, codes)
    if yours_codes is None:
        raise Wrong(
            "gradient of codes, through the loss: yours None, expected a tensor. The codebook "
            "loss needs q itself: neither q.detach(), nor y, where q stands behind the detach."
        )
    mistakes = {
        "beta multiplies the codebook loss.": beta * of_codes,
        "The commitment loss moves the codes, too: detach q there.": (1 + beta) * of_codes,
    }
    expect_close("gradient of codes, through the loss", yours_codes, of_codes, mistakes)
    if yours_z is None:
        raise Wrong("gradient of z, through the loss: yours None. Nothing commits z to its code.")
    mistakes = {"The codebook loss moves z, too: detach z there.": (1 + beta) * of_z}
    expect_close("gradient of z, through the loss", yours_z, beta * of_z, mistakes)


def _nearest(z, codes):
    return torch.cdist(z.detach(), codes.detach()).argmin(1)


def _gradients(of, z, codes):
    if not of.requires_grad:
        return None, None
    return torch.autograd.grad(of, (z, codes), allow_unused=True, retain_graph=True)


@check_of(
    "16.4",
    "The same parameter, and each dead code has a place where a vector is.",
    inputs=[*((seed, (8, 2), (8, 2), float32) for seed in range(4)), (4, (10, 3), (6, 3), float64)],
)
def check_revive(answer, seed, of_z, of_codes, dtype):
    images, codes = (each.to(dtype) for each in random_tensors(seed, of_z, of_codes))
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
    _expect_vectors_of(z.detach(), codes.detach()[dead], dead)


def _expect_vectors_of(z, revived, dead):
    for k, code in zip(dead, revived, strict=True):
        if not (code == z).all(1).any():
            mean = torch.allclose(code, z.mean(0))
            why = "That is the mean of all z." if mean else "It may be far from every z."
            place = [round(number, 2) for number in code.tolist()]
            raise Wrong(f"code {k}: yours is at {place}, which is no vector of z. {why}")
    if len(revived.unique(dim=0)) < len(revived):
        same = "all dead codes" if len(revived.unique(dim=0)) == 1 else "some dead codes"
        raise Wrong(
            f"{same} got the same vector: only one of them can be the nearest. torch.randperm "
            "draws each number once."
        )
