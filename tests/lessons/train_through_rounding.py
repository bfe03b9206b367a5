"""Wrong answers to the exercises on training through rounding."""

import torch

from helpers.functions import clamp, round_ste, scale_gradient


def scaled(step, x, high):
    return scale_gradient(step, (x.numel() * high) ** -0.5)


def inside(bins, low, high):
    return clamp(bins, low, high, bound_gradient=1)


def detached(x, step, low, high):
    step = scaled(step, x, high)
    return inside(round_ste(x.detach() / step), low, high) * step


def rounded(x, step, low, high):
    step = scaled(step, x, high)
    return inside((x / step).round(), low, high) * step


def unscaled(x, step, low, high):
    return inside(round_ste(x / step), low, high) * step


def one_line(x, step, low, high):
    step = scaled(step, x, high)
    quantized = inside((x / step).round(), low, high) * step
    return x + (quantized - x).detach()


def zero_at_bound(x, step, low, high):
    step = scaled(step, x, high)
    return clamp(round_ste(x / step), low, high, bound_gradient=0) * step


def not_clamped(x, step, low, high):
    step = scaled(step, x, high)
    return round_ste(x / step) * step


def clamped_last(x, scale, low, high, clamp):
    return clamp(round_ste(x / scale), low, high) * scale


def clamped_first(x, scale, low, high, clamp):
    return round_ste(clamp(x / scale, low, high)) * scale


def half_a_bin(x, scale, low, high, clamp):
    return round_ste(clamp(x / scale, low - 0.5, high + 0.5)) * scale


def passed_everywhere(x, scale, low, high, clamp):
    return x + ((x / scale).round().clamp(low, high) * scale - x).detach()


WRONG = {
    "train_through_rounding.1": {
        "x detached": (detached, "gradient with respect to x: yours None … Detach nothing"),
        "default round": (rounded, "gradient with respect to x: yours 0 everywhere"),
        "fixed step": (
            lambda x, step, low, high: (
                inside(round_ste(x / step.detach()), low, high) * step.detach()
            ),
            "gradient with respect to step: yours None",
        ),
        "gradient with respect to the step not scaled": (
            unscaled,
            "gradient with respect to step: yours … both places",
        ),
        "the trick around all of it": (
            one_line,
            "gradient with respect to x at x = -0.9: yours 3, expected 0",
        ),
        "0 at the bound": (zero_at_bound, "x = 0.2: yours 0, expected 4 … bound_gradient=1"),
        "not clamped": (not_clamped, "value at x = "),
    },
    "train_through_rounding.2": {
        "not rounded": (
            lambda x, scale, low, high, clamp: torch.clamp(x, low * scale, high * scale),
            "value",
        ),
        "clamped last": (clamped_last, "scale = -1.6 … yours 0, expected 0.5"),
        "half a bin": (half_a_bin, "x / scale = 1.6: yours 0.5, expected 0.25"),
        "clamped first": (clamped_first, "x / scale = 1, … half a bin beyond its centre"),
        "detached": (
            lambda x, scale, low, high, clamp: (
                round_ste(x / scale).detach().clamp(low, high) * scale + 0 * x
            ),
            "It is 0 everywhere",
        ),
        "passed everywhere": (passed_everywhere, "It is outside the range"),
    },
}
