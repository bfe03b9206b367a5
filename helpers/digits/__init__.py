"""Handwritten digits, and small networks that learn to read them in few bits."""

from helpers.digits.images import HELD_OUT, IMAGES, LABELS, TRAINING
from helpers.digits.training import (
    WAYS,
    Layer,
    Run,
    accuracy,
    initial_scale,
    network,
    three_seeds,
    train,
    training,
    with_spread,
)

__all__ = [
    "HELD_OUT",
    "IMAGES",
    "LABELS",
    "TRAINING",
    "WAYS",
    "Layer",
    "Run",
    "accuracy",
    "initial_scale",
    "network",
    "three_seeds",
    "train",
    "training",
    "with_spread",
]
