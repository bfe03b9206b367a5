"""Handwritten digits, and small networks that learn to read them.

images       the images and what they show
epochs       train anything on the digits
networks     networks whose weights and activations have few bits, and their training
autoencoder  an autoencoder with a codebook, and its training
looks        a network that reads a digit from three of its patches
figure       digits, patches of them, and codes for them as figures
"""

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
