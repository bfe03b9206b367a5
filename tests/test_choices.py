"""The four choices of their lesson: the exact gradient, and what each estimator gets wrong."""

import pytest
import torch

from lessons.choices import (
    ESTIMATORS,
    LOGITS,
    SETTINGS,
    UNBIASED,
    bias_and_spread,
    estimates,
    exact_gradient,
    expected_loss,
    reinforce,
)


def test_the_exact_gradient_is_the_slope_of_the_mean_loss():
    step = 1e-6
    for place in range(LOGITS.numel()):
        up, down = LOGITS.clone(), LOGITS.clone()
        up.view(-1)[place] += step
        down.view(-1)[place] -= step
        slope = (expected_loss(up) - expected_loss(down)) / (2 * step)
        torch.testing.assert_close(exact_gradient().view(-1)[place], slope, rtol=1e-6, atol=1e-8)


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_which_estimator_has_the_smallest_error_does_not_depend_on_the_seed(seed):
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
