"""Wrong answers to the exercises on surrogate gradients."""

import torch

from lessons.surrogate_gradients.stairs import EDGES


def nearest_below(start):
    return (start - EDGES[start >= EDGES]).min() if start >= EDGES[0] else EDGES[0] - start


def nearest(start):
    return (start - EDGES).abs().min()


def triangle(u, width=1.0):
    return (1 - u.abs() / width).clamp(min=0)


def box(u, width=0.5):
    return (u.abs() <= width).to(u.dtype)


RIGHT = {
    "surrogate_gradients.1": {"a float": lambda start: nearest(start).item(), "a tensor": nearest}
}

WRONG = {
    "surrogate_gradients.1": {
        "below only": (nearest_below, "That is the nearest edge below."),
        "both sides": (lambda start: 2 * nearest(start), "Twice as far"),
        "without the wall": (
            lambda start: (start - EDGES[1:]).abs().min(),
            "You left out the wall",
        ),
        "the furthest": (lambda start: (start - EDGES).abs().max(), "edge furthest away"),
        "all distances": (
            lambda start: start - EDGES,
            "a number, got a float64 tensor of shape (6,)",
        ),
    },
    "surrogate_gradients.2": {
        "the default": (torch.zeros_like, "yours stays at 1.5, expected to rest there … u = 0.5"),
        "too slow": (lambda u: triangle(u), "needs 6 steps, expected at most 5"),
        "too wide": (lambda u: triangle(u, 6.0), "6 times as strong, cancel"),
        "shaking": (box, "not come to rest after 300 steps … last places"),
        "larger than 1": (lambda u: 2 * triangle(u), "larger than 1"),
        "upside down": (lambda u: -triangle(u), "is negative: it points up"),
        "a number": (lambda u: 1.0, "yours is float, expected a tensor … Return one number"),
        "for one number": (lambda u: 1.0 if 0 < u < 1 else 0.0, "u is a tensor: use torch.where"),
    },
    "surrogate_gradients.3": {
        "half a unit": (0.5, "Half of the inputs is not half of a unit"),
        "both sides": (1.349, "That is the whole interval"),
        "one deviation": (1.0, "68%"),
    },
}
