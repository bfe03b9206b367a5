"""Handwritten digits, and small networks that learn to read them."""

from lessons.digits.epochs import epochs
from lessons.digits.images import HELD_OUT, IMAGES, LABELS, TRAINING
from lessons.digits.networks import (
    WAYS,
    QuantizedLinear,
    Run,
    accuracy,
    mean_gradients,
    network,
    rounded_afterwards,
    three_seeds,
    train,
    training_steps,
    weights_on_grid,
    with_spread,
)

__all__ = [
    "HELD_OUT",
    "IMAGES",
    "LABELS",
    "TRAINING",
    "WAYS",
    "QuantizedLinear",
    "Run",
    "accuracy",
    "epochs",
    "mean_gradients",
    "network",
    "rounded_afterwards",
    "three_seeds",
    "train",
    "training_steps",
    "weights_on_grid",
    "with_spread",
]
