"""The four choices of notebook 21: their exact gradient, and what each estimator gets wrong."""

import itertools
import json
from pathlib import Path
from statistics import mean, stdev

import pytest
import torch
import torch.nn.functional as F

from lessons.choices import (
    ESTIMATORS,
    LOGITS,
    SETTINGS,
    UNBIASED,
    bias_and_spread,
    estimates,
    exact_gradient,
    expected_loss,
    gumbel_noise,
    reinforce,
    unit_loss,
)
from lessons.digits.autoencoder import TRAININGS
from lessons.digits.looks import WAYS
from tools import trainings

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
STORED = json.loads(trainings.STORED.read_text("utf-8"))


def test_the_exact_gradient_is_the_slope_of_the_mean_loss():
    step = 1e-6
    for place in range(LOGITS.numel()):
        up, down = LOGITS.clone(), LOGITS.clone()
        up.view(-1)[place] += step
        down.view(-1)[place] -= step
        slope = (expected_loss(up) - expected_loss(down)) / (2 * step)
        torch.testing.assert_close(exact_gradient().view(-1)[place], slope, rtol=1e-6, atol=1e-8)


def test_the_mean_loss_is_that_of_random_choices():
    chosen = F.one_hot((LOGITS + gumbel_noise(200_000)).argmax(-1), 3).double()
    losses = unit_loss(chosen)
    deviation = losses.std() / len(losses) ** 0.5
    assert abs(losses.mean() - expected_loss(LOGITS)) < 4 * deviation
    shares = chosen.mean(0)
    torch.testing.assert_close(shares, LOGITS.softmax(-1), rtol=0, atol=0.005)


@pytest.mark.parametrize("baseline", [0.0, 4.7, -20.0])
def test_the_mean_of_reinforce_is_exact(baseline):
    """By enumeration: a noise that is large at the options of a setting draws this setting."""
    logits = LOGITS.expand(len(SETTINGS), -1, -1).clone().requires_grad_()
    surrogate = reinforce(logits, 100 * SETTINGS, 1.0, baseline)
    (each,) = torch.autograd.grad(surrogate.sum(), logits)
    probabilities = (SETTINGS * LOGITS.log_softmax(-1)).sum((-1, -2)).exp()
    mean = (probabilities[:, None, None] * each).sum(0)
    torch.testing.assert_close(mean, exact_gradient())


BEST = {  # samples: the estimators and temperatures with the smallest error
    1: [("softmax", 1.0)],
    100: [("Gumbel soft", 0.25), ("Gumbel soft", 0.5), ("Gumbel hard", 0.5)],
    10_000: [("with baseline", 1.0)],
}


@pytest.mark.parametrize("seed", range(2))
def test_which_estimator_has_the_smallest_error_does_not_depend_on_the_seed(seed):
    """As notebook 22 says, and exercise six_estimators.2 asks."""
    measured = {}
    for name in ESTIMATORS:  # of those without a bias, the temperature makes no difference
        for temperature in (1.0,) if name in UNBIASED else (0.125, 0.25, 0.5, 1.0, 2.0, 4.0):
            bias, spread = bias_and_spread(estimates(name, temperature, 20_000, seed))
            measured[name, temperature] = 0.0 if name in UNBIASED else bias, spread
    for samples, best in BEST.items():
        error = {key: (b**2 + s**2 / samples) ** 0.5 for key, (b, s) in measured.items()}
        least = min(error, key=error.get)
        assert least in best or least[0] == best[0][0]
        assert all(error[each] < 1.15 * error[least] for each in best)


def test_bias_and_spread_of_made_up_estimates():
    exact = exact_gradient()
    bias, spread = bias_and_spread(torch.stack([2.5 * exact, 1.5 * exact] * 500))
    assert (round(bias, 2), round(spread, 2)) == (1.0, 0.5)
    bias, spread = bias_and_spread(torch.stack([2.0 * exact, 0.5 * exact]))
    assert (bias, round(spread, 2)) == (0, 0.75)  # a mean of two is off by more than 0.25


@pytest.mark.parametrize("of_others, part", [(False, 0.5), (True, 1.0)])
def test_the_mean_of_a_batch_contains_the_sample_itself(of_others, part):
    """By enumeration of all batches of two: (n - 1)/n of the gradient is left."""
    logits = LOGITS.clone().requires_grad_()
    log_probability = (SETTINGS * logits.log_softmax(-1)).sum((-1, -2))
    losses, probability = unit_loss(SETTINGS), log_probability.detach().exp()
    total = 0
    for first, second in itertools.product(range(len(SETTINGS)), repeat=2):
        baseline = losses[second] if of_others else (losses[first] + losses[second]) / 2
        weight = probability[first] * probability[second]
        total = total + weight * (losses[first] - baseline) * log_probability[first]
    (found,) = torch.autograd.grad(total, logits)
    torch.testing.assert_close(found, part * exact_gradient())


# ---- trainings that notebooks 07, 23 and 24 read from a file


def test_what_notebook_07_says_of_trainings_in_few_bits():
    def rows(method, rate):
        found = [r for r in STORED["digits"] if (r["method"], r["learning rate"]) == (method, rate)]
        return {row["bits"]: row for row in found}

    for rate in (0.03, 0.2, 1.0):
        for row in rows("default gradient", rate).values():
            assert not any(map(any, row["gradients"])) and 2.2 < row["losses"][-1] < 2.5
    assert [bits for bits, r in rows("straight-through", 1.0).items() if r["read"] > 20] == [4, 2]
    assert not [r for r in rows("learned step", 1.0).values() if r["read"] > 20]


def of_readers(name):
    return {way: [row[name] for row in STORED["readers"] if row["way"] == way] for way in WAYS}


def test_whose_patches_are_read_best_depends_on_who_reads():
    own, new = of_readers("own"), of_readers("new")
    mixture = of_readers("mixture")["softmax"]
    assert all(mean(own[way]) > mean(own["random patches"]) + 5 for way in WAYS[1:])
    assert max(own, key=lambda way: mean(own[way])) == "Gumbel-softmax"
    assert min(WAYS[1:], key=lambda way: mean(own[way])) == "softmax"
    assert mean(mixture) > mean(own["softmax"]) + 5
    for way in set(WAYS) - {"softmax"}:
        ahead, behind = (
            sum(a > b for a, b in zip(*pair, strict=True))
            for pair in ((new["softmax"], new[way]), (new[way], new["softmax"]))
        )
        assert ahead >= 17 and behind <= 4, way
    assert min(new, key=lambda way: stdev(new[way])) == "softmax"
    little = [way for way in WAYS if way not in ("softmax", "random patches")]
    assert all(abs(mean(new[way]) - mean(own[way])) < 3 for way in little)


def test_what_a_codebook_gains_from_beta_and_from_codes_at_images():
    def numbers(way, name):
        return [row[name] for row in STORED["codebooks"] if row["way"] == way]

    error = {way: numbers(way, "squared error") for way in TRAININGS}
    in_use = {way: mean(numbers(way, "codes in use")) for way in TRAININGS}
    betas = "beta = 0", "beta = 0.25", "beta = 1", "beta = 4"
    assert sorted(in_use, key=in_use.get)[:4] == list(reversed(betas))
    less = [a < b for a, b in zip(error["beta = 0"], error["beta = 0.25"], strict=True)]
    assert sum(less) >= 9 and mean(numbers("beta = 0", "from z to its code")) > 10
    for way in ("revived", "start at images"):
        assert in_use[way] == 16
        assert all(a < b for a, b in zip(error[way], error["beta = 0.25"], strict=True))
    apart = abs(mean(error["revived"]) - mean(error["start at images"]))
    assert apart < stdev(error["revived"]) / 3
