"""Exercises on training through a choice: a missing detach, and an estimator for a budget."""

from functools import lru_cache

import torch

from autograd_surprises.numerics import short_number
from helpers.lessons.choices import (
    DETERMINISTIC,
    ESTIMATORS,
    UNBIASED,
    bias_and_spread,
    estimates,
)
from helpers.lessons.exercises.answers import call_answer, expect_close, expect_tensor
from helpers.lessons.exercises.exercise import Exercise, NotDone, Wrong

# logits, baseline, the option that was chosen, its cost
STEPS = (
    ([0.5, -0.25, 1.0], 2.0, 1, 5.0),
    ([-1.0, 0.75, 0.25], 3.0, 0, 2.5),
    ([0.0, 2.0, -0.5], -1.0, 2, 1.5),
)


def _check_step_loss(answer):
    for logits, baseline, chosen, cost in STEPS:
        logits = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
        baseline = torch.tensor(baseline, dtype=torch.float64, requires_grad=True)
        where = f"repaired_step_loss(logits, {baseline:g}, {chosen}, {cost:g})"
        loss = call_answer(answer, logits, baseline, chosen, cost)
        expect_tensor(where, loss, torch.Size(()))
        if not loss.requires_grad:
            raise Wrong(f"{where} has no graph: everything in it is detached.")
        of_logits, of_baseline = torch.autograd.grad(loss, (logits, baseline), allow_unused=True)
        _require_both(where, of_logits, of_baseline)
        log_probabilities = logits.detach().log_softmax(-1)
        advantage = cost - baseline.detach()
        gradient = advantage * (torch.eye(3, dtype=torch.float64)[chosen] - log_probabilities.exp())
        expect_close(
            f"{where}: gradient of logits",
            of_logits,
            gradient,
            {
                "The sign is turned: a high cost has to make the choice less likely.": -gradient,
                "The cost itself is there: subtract the baseline.": gradient / advantage * cost,
                "The advantage has become 1: detach it, but keep its value.": gradient / advantage,
            },
        )
        leak = log_probabilities[chosen]
        expect_close(
            f"{where}: gradient of baseline",
            of_baseline,
            -2 * advantage,
            {
                f"{leak.neg():.4g} of it comes through the product with log_probability: the "
                "baseline has to learn from advantage ** 2 alone.": -2 * advantage - leak,
                "The square is halved: keep advantage ** 2.": -advantage,
            },
            "Only advantage ** 2 may reach it: -2 · (cost - baseline).",
        )


def _require_both(where, of_logits, of_baseline):
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


BUDGETS = 1, 100, 10_000
TEMPERATURES = 0.125, 0.25, 0.5, 1.0, 2.0, 4.0
TOLERANCE = 1.15


def _check_choice(answer):
    for samples in BUDGETS:
        name, temperature = _read_choice(call_answer(answer, samples), samples)
        error = _error(name, temperature, samples)
        best = min(_error(other, t, samples) for other in ESTIMATORS for t in TEMPERATURES)
        if error > TOLERANCE * best:
            raise Wrong(
                f"{_counted(samples)}: yours, {name!r} at temperature {temperature:g}, has an "
                f"error of {short_number(error, 2)}, expected at most "
                f"{short_number(TOLERANCE * best, 2)}. {_why_not(name, temperature, samples)}"
            )


def _read_choice(choice, samples):
    if not isinstance(choice, (tuple, list)) or len(choice) != 2:
        raise Wrong(f"{_counted(samples)}: return a name and a temperature, got {choice!r}.")
    name, temperature = choice
    if name is ... or temperature is ...:
        raise NotDone
    if name not in ESTIMATORS:
        names = ", ".join(map(repr, ESTIMATORS))
        raise Wrong(f"{_counted(samples)}: there is no {name!r}, only {names}.")
    if not isinstance(temperature, (int, float)) or not 0.05 <= temperature <= 20:
        raise Wrong(
            f"{_counted(samples)}: a temperature from 0.05 to 20 is expected, got {temperature!r}."
        )
    return name, float(temperature)


def _counted(samples):
    return f"{samples:,} sample{'s' if samples > 1 else ''}"


def _error(name, temperature, samples):
    bias, spread = _measured(name, 1.0 if name in UNBIASED else temperature)
    return (bias**2 + spread**2 / samples) ** 0.5


@lru_cache(maxsize=64)
def _measured(name, temperature):
    samples = 1 if name in DETERMINISTIC else 20_000
    bias, spread = bias_and_spread(estimates(name, temperature, samples))
    return 0.0 if name in UNBIASED else bias, spread


def _why_not(name, temperature, samples):
    bias, spread = _measured(name, 1.0 if name in UNBIASED else temperature)
    if name == "REINFORCE":
        return "A baseline takes spread away and adds no bias."
    if name == "with baseline":
        return f"It has no bias, but a spread of {spread:.2g}: too much for so few samples."
    if name in DETERMINISTIC:
        return f"It is all bias, {bias:.2g}, and no number of samples makes that smaller."
    if bias > spread / samples**0.5:
        return f"It is mostly bias, {bias:.2g}: so many samples allow a lower temperature, or none."
    return f"It is mostly spread, {spread:.2g} a sample: a higher temperature has less."


EXERCISES = (
    Exercise(
        "12.1",
        "A detach is missing",
        6,
        "Write `repaired_step_loss`, in which `logits` gets the REINFORCE gradient with this "
        "baseline, and `baseline` gets the gradient of `advantage ** 2` alone. One `.detach()` is "
        "missing. Put it where it belongs.",
        (
            "`advantage` stands in two products. In which of them may `baseline` learn?",
            "Differentiate the first product by `baseline`: what is left is -log_probability, "
            "which is positive whatever the cost was. So it pushes the baseline down.",
            "Detach the factor that multiplies `log_probability`, there alone.",
        ),
        _check_step_loss,
        "The policy learns from the product, the baseline from the square.",
    ),
    Exercise(
        "12.2",
        "An estimator for your budget",
        6,
        "Write `my_choice(samples)`. It returns the name of an estimator and a temperature, such "
        'as `("Gumbel soft", 1.0)`, for a gradient that is averaged over 1, 100 or 10,000 samples. '
        "Each time its measured error on the four weights above may be at most "
        f"{TOLERANCE - 1:.0%} larger than that of the best choice.",
        (
            "The error is √(bias² + spread² / samples). Which part counts with one sample, and "
            "which with 10,000?",
            "Use the table and the explorer. For REINFORCE the temperature does not matter.",
            "One estimator has no spread, one no bias; for 100 samples take one with a little of "
            "both.",
        ),
        _check_choice,
        "With few samples the spread decides, with many the bias.",
    ),
)
