"""Ways to estimate the gradient of a choice: what they answer, and how wrong it is."""

from functools import lru_cache

import torch

from autograd_surprises.show.colours import INK, VALUE_COLOUR, VERMILION
from lessons.choices import (
    DETERMINISTIC,
    ESTIMATORS,
    UNBIASED,
    bias_and_spread,
    estimates,
    exact_gradient,
)
from lessons.drawings.panel import PanelDrawing

SHOWN = 3, 0  # the logit whose gradient the dots show: -1 for the last weight
REPEATS, MOST = 20, 1000  # estimates that are shown of each estimator, samples in one of them
WINDOW = -4.0, 8.0  # dots outside of it are drawn at its ends
TICKS = 0.03, 0.1, 0.3, 1.0, 3.0, 10.0


class EstimatorsDrawing(PanelDrawing):
    """On the left estimates of one number of the gradient, on the right the error of all twelve.

    Each dot on the left is the mean of `samples` samples, 20 for each estimator; the line is the
    exact gradient. On the right, parts of its length: the bias, the spread of such a mean, and
    both together.

    >>> EstimatorsDrawing().show(temperature=1.0, samples=1000)[-26:]
    '; the least: with baseline'
    """

    name = "Six estimators of one gradient"

    def __init__(self):
        titles = "20 estimates of one number", "error of the whole gradient"
        dots_ax, error_ax = self.panels(8, 3.8, *titles, grid="x", sharey=True)
        rows = range(len(ESTIMATORS))
        dots_ax.set(yticks=rows, yticklabels=ESTIMATORS, ylim=(len(rows) - 0.4, -0.6))
        dots_ax.set(xlabel="dL/dlogit", xlim=(-4.5, 8.5), navigate=False)  # y is a name here
        error_ax.set(xlabel="part of the exact length", xscale="log", xlim=(0.02, 20))
        error_ax.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        error_ax.set_xticks([], minor=True)
        error_ax.set_navigate(False)
        exact = dots_ax.axvline(exact_gradient()[SHOWN], color=INK, ls="--", lw=1.4)
        self._dots = self.line(dots_ax, VALUE_COLOUR, "o", ms=4, alpha=0.75, mec=VALUE_COLOUR)
        parts = {
            "bias": self.line(error_ax, VALUE_COLOUR, "s", ms=7),
            "spread / √samples": self.line(error_ax, INK, "D", ms=7),
            "error: both": self.line(error_ax, VERMILION, "o", ms=9),
        }
        self._bias, self._spread, self._error = parts.values()
        self.legend({"exact": exact, "estimate": self._dots, **parts})

    def show(self, temperature=1.0, samples=10):
        found = [_samples_of(name, 1.0 if name in UNBIASED else temperature) for name in ESTIMATORS]
        rows = torch.arange(len(found), dtype=torch.float64)
        apart = torch.linspace(-0.3, 0.3, REPEATS, dtype=torch.float64)
        dots = torch.stack([number[:, :samples].mean(1) for number, _, _ in found])
        self._dots.set_data(dots.clamp(*WINDOW).flatten(), (rows[:, None] + apart).flatten())
        bias = torch.tensor([bias for _, bias, _ in found], dtype=torch.float64)
        spread = torch.tensor([spread for _, _, spread in found], dtype=torch.float64)
        spread = spread / samples**0.5
        error = (bias**2 + spread**2).sqrt()
        for line, numbers, lower in (
            (self._bias, bias, -0.25),
            (self._spread, spread, 0.25),
            (self._error, error, 0.0),
        ):
            seen = numbers > 0  # the axis is logarithmic
            line.set_data(numbers[seen].numpy(), (rows + lower)[seen].numpy())
        errors = ", ".join(f"{e:.2g} {name}" for e, name in zip(error, ESTIMATORS, strict=True))
        return f"error {errors}; the least: {list(ESTIMATORS)[error.argmin()]}"


@lru_cache(maxsize=128)
def _samples_of(name, temperature):
    """The number that is shown, shape (REPEATS, MOST); bias and spread of the whole gradient."""
    found = estimates(name, temperature, 1 if name in DETERMINISTIC else REPEATS * MOST)
    bias, spread = bias_and_spread(found)
    one_number = found[:, SHOWN[0], SHOWN[1]].expand(REPEATS * MOST).reshape(REPEATS, MOST)
    # a view would keep all twelve numbers of each sample in this cache
    return one_number.contiguous(), 0.0 if name in UNBIASED else bias, spread
