"""Four choices with a known gradient, and six ways to estimate it.

A unit has four inputs, and each of its weights is a choice: -1, 0 or 1.
"""

from collections.abc import Callable
from functools import lru_cache

import torch
import torch.nn.functional as F

from helpers.functions import argmax_ste

INPUTS = torch.tensor([1.0, 0.5, -0.5, 1.5], dtype=torch.float64)
LEVELS = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
TARGET = 1.0
LOGITS = torch.tensor(
    [[0.0, 0.5, -0.5], [0.3, -0.2, 0.1], [-0.4, 0.0, 0.6], [0.3, 0.2, -0.3]], dtype=torch.float64
)
BASELINE = 4.7  # about the mean loss
SETTINGS = F.one_hot(torch.cartesian_prod(*[torch.arange(3)] * 4)).double()  # all 81


def unit_loss(choice: torch.Tensor) -> torch.Tensor:
    """(output − target)² for choices of shape (..., 4, 3), one-hot or a mixture.

    >>> unit_loss(SETTINGS[-1])  # all weights are 1: the output is 2.5
    tensor(2.2500, dtype=torch.float64)
    """
    weights = choice @ LEVELS
    return (weights @ INPUTS - TARGET).square()


def expected_loss(logits: torch.Tensor, loss: Callable = unit_loss) -> torch.Tensor:
    """The mean loss if each weight is drawn from the softmax of its logits, shape (4, 3).

    >>> expected_loss(LOGITS)
    tensor(4.7171, dtype=torch.float64)
    """
    probabilities = (SETTINGS * logits.log_softmax(-1)).sum((-1, -2)).exp()
    return probabilities @ loss(SETTINGS)


@lru_cache
def exact_gradient() -> torch.Tensor:
    """The gradient of the expected loss at LOGITS, shape (4, 3).

    >>> exact_gradient()[0]
    tensor([ 0.9540, -0.4309, -0.5230], dtype=torch.float64)
    """
    logits = LOGITS.clone().requires_grad_()
    return torch.autograd.grad(expected_loss(logits), logits)[0]


def gumbel_noise(samples: int, seed: int = 0) -> torch.Tensor:
    """−log(−log(u)) for uniform u, shape (samples, 4, 3).

    >>> gumbel_noise(2).shape
    torch.Size([2, 4, 3])
    """
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(samples, *LOGITS.shape, generator=generator, dtype=LOGITS.dtype)
    return -(-uniform.log()).log()


# Each takes logits and noise, shape (samples, 4, 3), and a temperature. It returns a number for
# each sample, and the gradient of that number is the estimate.


def softmax(logits, noise, temperature):
    """The loss of a mixture: it needs no noise."""
    return unit_loss((logits / temperature).softmax(-1))


def straight_through(logits, noise, temperature):
    """The loss of the likeliest choice, with the gradient of softmax: it needs no noise."""
    return unit_loss(argmax_ste(logits, temperature=temperature))


def gumbel_soft(logits, noise, temperature):
    """The loss of a random mixture."""
    return unit_loss(((logits + noise) / temperature).softmax(-1))


def gumbel_hard(logits, noise, temperature):
    """The loss of a random choice, with the gradient of a random mixture."""
    return unit_loss(argmax_ste(logits + noise, temperature=temperature))


def reinforce(logits, noise, temperature, baseline=0.0):
    """(loss − baseline) · log-probability of a random choice, at any temperature."""
    chosen = F.one_hot((logits + noise).argmax(-1), 3).double()
    log_probability = (chosen * logits.log_softmax(-1)).sum((-1, -2))
    return (unit_loss(chosen) - baseline) * log_probability


def reinforce_with_baseline(logits, noise, temperature):
    """The same with the mean loss as its baseline."""
    return reinforce(logits, noise, temperature, BASELINE)


ESTIMATORS = {
    "softmax": softmax,
    "straight-through": straight_through,
    "Gumbel soft": gumbel_soft,
    "Gumbel hard": gumbel_hard,
    "REINFORCE": reinforce,
    "with baseline": reinforce_with_baseline,
}
DETERMINISTIC = "softmax", "straight-through"
UNBIASED = "REINFORCE", "with baseline"  # and the temperature does not matter


def estimates(
    name: str, temperature: float = 1.0, samples: int = 10_000, seed: int = 0
) -> torch.Tensor:
    """The gradients at LOGITS that an estimator finds, one for each sample: (samples, 4, 3).

    >>> estimates("softmax", samples=1)[0, 0]
    tensor([ 0.8636, -0.1958, -0.6679], dtype=torch.float64)
    """
    logits = LOGITS.expand(samples, -1, -1).clone().requires_grad_()
    surrogate = ESTIMATORS[name](logits, gumbel_noise(samples, seed), temperature)
    return torch.autograd.grad(surrogate.sum(), logits)[0]


def bias_and_spread(found: torch.Tensor, exact: torch.Tensor | None = None) -> tuple[float, float]:
    """How far the mean estimate is from the exact gradient, and how far one is from their mean.

    Both as a part of the length of the exact gradient, that at LOGITS unless another is given. The
    mean of n estimates has the error √(bias² + spread² / n). What is left of the spread in so many
    estimates is no part of the bias.

    >>> bias, spread = bias_and_spread(torch.stack([exact_gradient(), 3 * exact_gradient()]))
    >>> round(bias, 2), round(spread, 2)
    (0.71, 1.0)
    """
    exact, mean = exact_gradient() if exact is None else exact, found.mean(0)
    spread = (found - mean).square().sum((-1, -2)).mean()
    bias = (mean - exact).square().sum() - spread / len(found)
    return tuple((square.clamp(min=0).sqrt() / exact.norm()).item() for square in (bias, spread))
