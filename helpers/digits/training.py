"""Networks whose weights and activations are rounded to a few bits, and how they are trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import mean, stdev

import torch
import torch.nn.functional as F
from torch import nn

from helpers.digits.images import HELD_OUT, IMAGES, LABELS, TRAINING
from helpers.functions import fake_quantize, lsq_quantize

EPOCHS, BATCH, HIDDEN = 30, 64, (32, 32)


def floating_point(x, scale, low, high):
    """x as it is."""
    return x


def default_gradient(x, scale, low, high):
    """x on the grid, by torch's own operations: a gradient of 0."""
    return (x / scale).round().clamp(low, high) * scale


def straight_through(x, scale, low, high):
    """x on the grid, with the gradient of x inside its range."""
    return fake_quantize(x, scale, 0, low, high)


@dataclass(frozen=True)
class Run:
    """What a training is; the same run gives the same network.

    quantize       (x, scale, low, high) -> x on a grid of multiples of scale, from low to high
    bits           of each weight and each activation
    seed           of the initial weights and of the order of the images
    start          factor of the initial scales
    learning_rate  of gradient descent, which falls to 0 along a cosine
    learns_scale   whether the scales are parameters, too
    """

    quantize: Callable
    bits: int = 2
    seed: int = 0
    start: float = 1.0
    learning_rate: float = 0.1
    learns_scale: bool = False


WAYS = {
    "floating point": Run(floating_point),
    "default gradient": Run(default_gradient),
    "straight-through": Run(straight_through),
    "learned step": Run(lsq_quantize, learns_scale=True),
}


def initial_scale(values: torch.Tensor, high: int) -> torch.Tensor:
    """2 · mean |values| / sqrt(high), from the paper on learned steps: Esser et al. 2020.

    >>> initial_scale(torch.tensor([-1.0, 3.0]), high=4)
    tensor(2.)
    """
    return 2 * values.detach().abs().mean() / high**0.5


class Layer(nn.Linear):
    """A linear layer that rounds its weight and its input to the bits of a run.

    `inputs` are some of the numbers that it will meet; they set the scale of the input.

    >>> layer = Layer(10, WAYS["straight-through"], torch.rand(5, 64), torch.Generator())
    >>> layer(torch.rand(3, 64)).shape
    torch.Size([3, 10])
    """

    def __init__(self, outputs: int, run: Run, inputs: torch.Tensor, generator: torch.Generator):
        super().__init__(inputs.shape[1], outputs)
        nn.init.kaiming_uniform_(self.weight, nonlinearity="relu", generator=generator)
        nn.init.zeros_(self.bias)
        self.quantize, levels = run.quantize, 2**run.bits
        self.weight_range, self.input_range = (-levels // 2, levels // 2 - 1), (0, levels - 1)
        self.weight_scale = run.start * initial_scale(self.weight, self.weight_range[1])
        self.input_scale = run.start * initial_scale(inputs, self.input_range[1])
        if run.learns_scale:
            self.weight_scale = nn.Parameter(self.weight_scale)
            self.input_scale = nn.Parameter(self.input_scale)
        else:
            self.weight_scale, self.input_scale = self.weight_scale.item(), self.input_scale.item()

    def forward(self, x):
        weight = self.quantize(self.weight, self.weight_scale, *self.weight_range)
        x = self.quantize(x, self.input_scale, *self.input_range)
        return F.linear(x, weight, self.bias)


def network(run: Run, generator: torch.Generator) -> nn.Sequential:
    """Three layers, 64 to 32 to 32 to 10, with a relu between. Untrained.

    >>> len(network(WAYS["floating point"], torch.Generator()))
    5
    """
    layers, inputs = [], IMAGES[TRAINING]
    for outputs in (*HIDDEN, 10):
        layer = Layer(outputs, run, inputs, generator)
        layers += [layer, nn.ReLU()]
        inputs = F.linear(inputs, layer.weight, layer.bias).relu().detach()
    return nn.Sequential(*layers[:-1])


def training(run: Run) -> Iterator[tuple[nn.Module, float, torch.Tensor]]:
    """Train, and give the network, how much is done (0 to 1) and the loss after each batch.

    >>> model, done, loss = next(training(WAYS["floating point"]))
    >>> round(1 / done)
    630
    """
    generator = torch.Generator().manual_seed(run.seed)
    model = network(run, generator)
    optimizer = torch.optim.SGD(model.parameters(), lr=run.learning_rate, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for epoch in range(EPOCHS):
        order = torch.randperm(len(TRAINING), generator=generator)
        batches = TRAINING[order].split(BATCH)
        for i, batch in enumerate(batches, 1):
            loss = F.cross_entropy(model(IMAGES[batch]), LABELS[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield model, (epoch + i / len(batches)) / EPOCHS, loss.detach()
        schedule.step()


def train(run: Run) -> nn.Module:
    """The trained network of a run.

    >>> accuracy(train(WAYS["floating point"])) > 95
    True
    """
    *_, (model, _, _) = training(run)
    return model


@torch.no_grad()
def accuracy(model: nn.Module) -> float:
    """How many percent of the 500 held-out digits it reads right.

    >>> accuracy(lambda images: torch.nn.functional.one_hot(LABELS[HELD_OUT]))
    100.0
    """
    right = model(IMAGES[HELD_OUT]).argmax(1) == LABELS[HELD_OUT]
    return 100 * right.double().mean().item()


def three_seeds(run: Run) -> list[float]:
    """The accuracies of a run with seed 0, 1 and 2.

    >>> len(three_seeds(WAYS["floating point"]))
    3
    """
    return [accuracy(train(replace(run, seed=seed))) for seed in range(3)]


def with_spread(accuracies: list[float]) -> str:
    """Mean and standard deviation, as text.

    >>> with_spread([94.0, 95.0, 96.0])
    '95.0 ± 1.0'
    """
    return f"{mean(accuracies):.1f} ± {stdev(accuracies):.1f}"
