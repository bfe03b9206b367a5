"""Checks on estimators: a detach, and a budget."""

from functools import lru_cache

import torch

from autograd_surprises.numerics import short_number
from lessons.asking.answers import as_number, call_answer, expect_close, expect_tensor
from lessons.asking.registry import NotDone, Wrong, check_of
from lessons.choices import DETERMINISTIC, ESTIMATORS, UNBIASED, bias_and_spread, estimates

float32, float64 = torch.float32, torch.float64


@check_of(
    "six_estimators.1",
    "The policy learns from the product, the baseline from the square.",
    inputs=[
        ([0.5, -0.25, 1.0], 2.0, 1, 5.0, float64),
        ([0.25, -1.5, 1.0, 0.5, -0.75], 0.5, 3, -2.0, float32),
    ],
)
def check_step_loss(answer, logits, baseline, chosen, cost, dtype):
    logits = torch.tensor(logits, dtype=dtype, requires_grad=True)
    baseline = torch.tensor(baseline, dtype=dtype, requires_grad=True)
    where = f"repaired_step_loss(logits, {baseline:g}, {chosen}, {cost:g})"
    loss = call_answer(answer, logits, baseline, chosen, cost)
    expect_tensor(where, loss, torch.Size(()), "Return the sum of both terms.")
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
    }
    expect_close(f"{where}: gradient with respect to logits", of_logits, gradient, mistakes)
    mistakes = {
        f"{-log_probability:.4g} of it comes through the product with log_probability: the "
        "baseline has to learn from advantage ** 2 alone.": -2 * advantage - log_probability,
        "The square is halved: keep advantage ** 2.": -advantage,
    }
    why = "Only advantage ** 2 may reach it: -2 · (cost - baseline)."
    where = f"{where}: gradient with respect to baseline"
    expect_close(where, of_baseline, -2 * advantage, mistakes, why)


TEMPERATURES = 0.125, 0.25, 0.5, 1.0, 2.0, 4.0
TOLERANCE = 1.15


@check_of(
    "six_estimators.2",
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
    temperature = as_number(temperature, f"{where}: the temperature ")
    if not 0.05 <= temperature <= 20:
        raise Wrong(f"{where}: a temperature from 0.05 to 20 is expected, got {temperature:g}.")
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
