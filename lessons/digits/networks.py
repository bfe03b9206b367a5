"""Networks whose weights and activations are rounded to a few bits, and their training."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean, stdev

import torch
import torch.nn.functional as F
from torch import nn

from autograd_surprises.numerics import one_thread
from helpers.functions import fake_quantize, lsq_quantize
from lessons.digits.epochs import BATCH
from lessons.digits.images import HELD_OUT, IMAGES, LABELS, TRAINING

HIDDEN = (32, 32)
EPOCHS = 10


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
    """The settings of a training; the same settings give the same network.

    quantize       (x, scale, low, high) -> x on a grid of multiples of scale, from low to high
    bits           of each weight and each activation, 2 or more
    seed           of the initial weights and of the order of the images
    scale_factor   multiplies the initial scales; 1 gives those of the paper on learned steps
    learning_rate  of gradient descent at the start; it falls to 0 along a cosine
    learns_scale   whether the scales are parameters, too
    """

    quantize: Callable
    bits: int = 2
    seed: int = 0
    scale_factor: float = 1.0
    learning_rate: float = 0.2
    learns_scale: bool = False

    def __post_init__(self):
        if self.bits < 2:
            raise ValueError(f"a signed weight needs 2 bits or more, got {self.bits}")

    @property
    def weight_range(self) -> tuple[int, int]:
        """The lowest and the highest integer of a weight."""
        half = 2**self.bits // 2
        return -half, half - 1

    @property
    def input_range(self) -> tuple[int, int]:
        """Those of an input, which is never negative."""
        return 0, 2**self.bits - 1


WAYS = {
    "floating point": Run(floating_point),
    "default gradient": Run(default_gradient),
    "straight-through": Run(straight_through),
    "learned step": Run(lsq_quantize, learns_scale=True),
}


def initial_scale(values: torch.Tensor, high: int) -> torch.Tensor:
    """2 · mean |values| / sqrt(high), from Esser et al. 2020, the paper on learned steps.

    >>> initial_scale(torch.tensor([-1.0, 3.0]), high=4)
    tensor(2.)
    """
    return 2 * values.detach().abs().mean() / high**0.5


class QuantizedLinear(nn.Module):
    """A linear layer that rounds its weight and its input to the bits of a run.

    The weight itself stays in floating point; each forward pass uses a rounded copy.

    >>> layer = QuantizedLinear(64, 10, WAYS["straight-through"], torch.Generator())
    >>> layer.set_scales(torch.rand(5, 64))
    >>> layer(torch.rand(3, 64)).shape
    torch.Size([3, 10])
    """

    def __init__(self, inputs: int, outputs: int, run: Run, generator: torch.Generator):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        nn.init.kaiming_uniform_(self.weight, nonlinearity="relu", generator=generator)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.run, self.weight_range, self.input_range = run, run.weight_range, run.input_range

    def set_scales(self, inputs: torch.Tensor):
        """Choose the scales from the weight and from typical inputs."""
        self.weight_scale = self._scale(self.weight, self.weight_range)
        self.input_scale = self._scale(inputs, self.input_range)

    def _scale(self, values, range_):
        scale = self.run.scale_factor * initial_scale(values, range_[1])
        return nn.Parameter(scale) if self.run.learns_scale else scale.item()

    def forward(self, x):
        weight = self.run.quantize(self.weight, self.weight_scale, *self.weight_range)
        x = self.run.quantize(x, self.input_scale, *self.input_range)
        return F.linear(x, weight, self.bias)


def network(run: Run, generator: torch.Generator) -> nn.Sequential:
    """Three layers, 64 to 32 to 32 to 10, with a relu between two layers. Untrained.

    >>> len(network(WAYS["floating point"], torch.Generator()))
    5
    """
    sizes = (IMAGES.shape[1], *HIDDEN, 10)
    layers = [QuantizedLinear(*pair, run, generator) for pair in pairwise(sizes)]
    set_scales(layers)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def set_scales(layers: Sequence[QuantizedLinear]):
    """Choose the scales of all layers from the inputs that they get in floating point.

    >>> set_scales([QuantizedLinear(64, 10, WAYS["straight-through"], torch.Generator())])
    """
    inputs = IMAGES[TRAINING]
    for layer in layers:
        layer.set_scales(inputs)
        inputs = F.linear(inputs, layer.weight, layer.bias).relu().detach()


def rounded_afterwards(model: nn.Sequential, bits: int) -> nn.Sequential:
    """A network with the weights of `model`, rounded to `bits` bits after its training.

    >>> rounded_afterwards(train(WAYS["floating point"]), 8)[0].run.bits
    8
    """
    run = replace(WAYS["straight-through"], bits=bits)
    rounded = network(run, torch.Generator())
    rounded.load_state_dict(model.state_dict())
    set_scales(rounded[::2])
    return rounded


def training_steps(run: Run) -> Iterator[tuple[nn.Module, float, torch.Tensor]]:
    """Train; after each batch, yield the network, the share that is done (0 to 1) and the loss.

    The batches run in one thread: several would wait for each other, and take ten times as long
    on a busy machine. Between two batches, torch has as many threads as before.

    >>> model, done, loss = next(training_steps(WAYS["floating point"]))
    >>> round(1 / done)
    210
    """
    batches = _batches(run)
    while True:
        with one_thread():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _batches(run):
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
    for step in training_steps(run):
        model, _, _ = step
    return model


@torch.no_grad()
def accuracy(model: nn.Module) -> float:
    """The share of the 500 held-out digits that the model reads right, in percent.

    >>> accuracy(lambda images: torch.nn.functional.one_hot(LABELS[HELD_OUT]))
    100.0
    """
    right = model(IMAGES[HELD_OUT]).argmax(1) == LABELS[HELD_OUT]
    return 100 * right.double().mean().item()


def mean_gradients(model: nn.Sequential) -> list[float]:
    """The mean size of the gradient of each layer's weight; 0 where there is none.

    >>> mean_gradients(network(WAYS["straight-through"], torch.Generator()))
    [0.0, 0.0, 0.0]
    """
    gradients = [layer.weight.grad for layer in model[::2]]
    return [0.0 if gradient is None else gradient.abs().mean().item() for gradient in gradients]


def three_seeds(run: Run) -> list[float]:
    """The accuracies of the run with the seeds 0, 1 and 2, in percent.

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
