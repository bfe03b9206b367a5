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
    with_spread,
)
