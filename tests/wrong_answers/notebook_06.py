"""Wrong answers to the exercises on surrogate gradients."""

import math

import torch

from helpers.lessons.stairs import EDGES


def nearest_below(start):
    return (start - EDGES[start >= EDGES]).min() if start >= EDGES[0] else EDGES[0] - start


def nearest(start):
    return (start - EDGES).abs().min()


def triangle(u, width=1.0):
    return (1 - u.abs() / width).clamp(min=0)


def box(u, width=0.5):
    return (u.abs() <= width).to(u.dtype)


WRONG = {
    "06.1": {
        "half a stair": (lambda start: 0.5, "That is for the middle of a stair only."),
        "below only": (nearest_below, "That is the nearest edge below."),
        "both sides": (lambda start: 2 * nearest(start), "Twice as far"),
        "signed": (lambda start: -nearest(start), "A width is a distance, and so not negative"),
        "a stair": (
            lambda start: 0.9,
            "The nearest edge is 0.5 away: any wider",
        ),
        "without the wall": (
            lambda start: (start - EDGES[1:]).abs().min(),
            "You left out the wall",
        ),
        "the furthest": (
            lambda start: (start - EDGES).abs().max(),
            "the edge that is furthest away",
        ),
        "all distances": (lambda start: start - EDGES, "yours is Tensor, expected a number"),
    },
    "06.2": {
        "the default": (
            torch.zeros_like,
            "yours stays at 1.5, expected to rest there. In the middle",
        ),
        "too narrow": (lambda u: triangle(u, 0.25) * (u < 0), "start 1.5: yours stays at 1.5"),
        "too slow": (lambda u: triangle(u), "start 4.5: yours needs 6 steps, expected at most 5"),
        "too wide": (lambda u: triangle(u, 6.0), "6 times as strong, cancel"),
        "shaking": (
            box,
            "has not come to rest after 300 steps, expected to rest there. Its last places are",
        ),
        "larger than 1": (lambda u: 2 * triangle(u), "is larger than 1. A larger slope is"),
        "upside down": (lambda u: -triangle(u), "is negative: it points up"),
        "for one number": (lambda u: 1.0 if 0 < u < 1 else 0.0, "u is a tensor: use torch.where"),
        "a number": (lambda u: 1.0, "yours float, expected one slope for each u"),
        "summed up": (lambda u: triangle(u).sum(), "yours (), expected one slope for each u"),
        "NaN at the edge": (lambda u: 1 - u / u, "yours is nan somewhere, expected 0 to 1"),
    },
    "06.3": {
        "half a unit": (0.5, "Half of the inputs is not half of a unit"),
        "both sides": (1.349, "That is the whole interval"),
        "one deviation": (1.0, "With that width 68% of the inputs"),
        "a share": (0.75, "yours 0.75, expected 0.67. With that width 55% of the inputs"),
        "lower quarter": (-0.6745, "A width is not negative"),
        "words": ("two thirds", "yours is str, expected a number"),
        "not a number": (math.nan, "With that width nan%"),
    },
}
