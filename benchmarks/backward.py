"""Are torch.autograd.grad and custom Functions slower than backward() through plain operations?

    python benchmarks/backward.py           about a minute, on a machine that does nothing else

Each row compares two ways to the same gradient. They take turns in random order, on one thread.
benchmarks/README.md says what is measured, and holds the last result.
"""

import gc
import os
import platform
import random
import statistics
import time
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

import torch
from torch.autograd import Function, grad

from lessons.saved_tensors import saved_tensors

ROUNDS, TURNS, SMALL, LARGE = 40, 7, 1_000, 1_000_000


def swish(x):
    return x * x.sigmoid()


class SwishFunction(Function):
    """The backward as its formula says it."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return swish(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return grad_output * (s + x * s * (1 - s))


class SwishInPlace(Function):
    """The same, without new memory for each step."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sigmoid().mul_(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return (1 - s).mul_(x).add_(1).mul_(s).mul_(grad_output)


def gelu(x):  # in its tanh form, with rounded constants
    return 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.045 * x**3)))


class GeluFunction(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return gelu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        t = torch.tanh(0.8 * (x + 0.045 * x**3))
        return grad_output * 0.5 * (1 + t + x * (1 - t * t) * 0.8 * (1 + 0.135 * x * x))


class ExpFunction(Function):
    """Saves and computes what torch.exp does: what differs is the price of being a Function."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


class ExpWithSetupContext(Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    backward = ExpFunction.backward


class Pair(NamedTuple):
    """Two ways to compare: each prepares, untimed, and returns a function to time."""

    title: str
    size: str
    ways: tuple[Callable, Callable]
    saved: str = "–"


def differentiate(title, size, loss, leaves, first, second):
    """Two ways to get gradients of loss(). Only backward is timed."""

    def after_forward(way):
        def prepare():
            for leaf in leaves:
                leaf.grad = None
            result = loss()
            return lambda: way(result)

        return prepare

    return Pair(title, size, (after_forward(first), after_forward(second)))


def compute(title, n, first, second):
    """Two spellings of a function of n numbers. Forward and backward are timed."""
    x, upstream = torch.randn(n, requires_grad=True), torch.randn(n)

    def step(function):
        return lambda: lambda: grad(function(x), x, upstream)

    gradients, saved = [], []
    for function in (first, second):
        with saved_tensors() as kept:
            y = function(x)
        saved.append(f"{kept.bytes / n:.0f}")
        gradients.append(grad(y, x, upstream))
    torch.testing.assert_close(*gradients)
    return Pair(title, f"{n:,}", (step(first), step(second)), " → ".join(saved))


def of_one_input(n):
    x = torch.randn(n, requires_grad=True)
    for title, second in [
        ("backward() → itself, for the noise", torch.Tensor.backward),
        ("backward() → autograd.grad", lambda loss: grad(loss, x)),
    ]:
        yield differentiate(
            title, f"{n:,}", lambda: (x.sin() * x).sum(), [x], torch.Tensor.backward, second
        )


def of_many_parameters(width, batch):
    layers = [(torch.nn.Linear(width, width), torch.nn.Tanh()) for _ in range(10)]
    model = torch.nn.Sequential(*sum(layers, ()))
    data, x = torch.randn(batch, width), torch.randn(batch, width, requires_grad=True)
    parameters = list(model.parameters())
    size = f"10 layers of {width}, batch {batch}"
    yield differentiate(
        "MLP, 20 parameters: backward() → autograd.grad",
        size,
        lambda: model(data).square().mean(),
        parameters,
        torch.Tensor.backward,
        lambda loss: grad(loss, parameters),
    )
    for title, first in [
        ("MLP, input only: backward() → autograd.grad", torch.Tensor.backward),
        ("MLP, input only: backward(inputs=x) → autograd.grad", lambda y: y.backward(inputs=x)),
    ]:
        yield differentiate(
            title,
            size,
            lambda: model(x).square().mean(),
            [*parameters, x],
            first,
            lambda loss: grad(loss, x),
        )


def of_functions(n):
    yield compute("swish: plain → Function", n, swish, SwishFunction.apply)
    yield compute("swish: plain → Function, in place", n, swish, SwishInPlace.apply)
    yield compute("swish: plain → F.silu", n, swish, torch.nn.functional.silu)
    yield compute("gelu: plain → Function", n, gelu, GeluFunction.apply)


def of_the_same_work(n):
    yield compute("exp: plain → Function", n, torch.exp, ExpFunction.apply)
    yield compute("exp: plain → Function, setup_context", n, torch.exp, ExpWithSetupContext.apply)


def microseconds(prepare):
    run = prepare()
    start = time.perf_counter()
    result = run()
    stop = time.perf_counter()
    del result  # freeing it is not timed
    return 1e6 * (stop - start)


def measure(pairs, rounds, turns):
    """For each pair, and each of its visits, the median microseconds of (first, second)."""
    taken = {pair: [] for pair in pairs}
    shuffled = random.Random(0)
    for _ in range(rounds):
        for pair in shuffled.sample(pairs, len(pairs)):  # a busy moment should hit them all
            times = [], []
            for _ in range(1 + turns):
                for way in shuffled.sample([0, 1], 2):
                    times[way].append(microseconds(pair.ways[way]))
            taken[pair].append([statistics.median(way[1:]) for way in times])  # [0] warmed up
    return taken


def main(rounds=ROUNDS, turns=TURNS):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(
        f"{date.today()}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"{torch.get_num_threads()} thread, {os.cpu_count()} cores\n"
    )
    pairs = [
        *(pair for n in (SMALL, LARGE) for pair in of_one_input(n)),
        *(pair for size in [(16, 16), (512, 128)] for pair in of_many_parameters(*size)),
        *(pair for n in (SMALL, LARGE) for pair in of_functions(n)),
        *(pair for n in (1, LARGE) for pair in of_the_same_work(n)),
    ]
    gc.disable()
    taken = measure(pairs, rounds, turns)
    print("| first → second | size | µs | second / first | quartiles | bytes saved per element |")
    print("|---|---|---|---|---|---|")
    for pair, times in taken.items():
        first, second = (statistics.median(way) for way in zip(*times, strict=True))
        low, middle, high = statistics.quantiles((b / a for a, b in times), n=4)
        print(
            f"| {pair.title} | {pair.size} | {first:.1f} → {second:.1f} | {middle:.2f} | "
            f"{low:.2f} to {high:.2f} | {pair.saved} |"
        )


if __name__ == "__main__":
    main()
