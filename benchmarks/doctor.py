"""What do explain() and trace() cost, beside torch's own set_detect_anomaly?

    python benchmarks/doctor.py             under a minute, on a machine that does nothing else

All ways take turns in random order, on one thread. benchmarks/README.md says what is measured,
and holds the last result.
"""

import gc
import os
import platform
import random
import statistics
import time
from datetime import date

import torch
from torch import nn

from autograd_surprises.doctor import explain, trace

TURNS = 25
LAYERS = 6  # of the transformer
CHAINS = {250: 25, 4000: 5}  # the rounds of each, and its turns
PLAIN, ANOMALY, EXPLAIN = "forward + backward", "with set_detect_anomaly", "with explain()"
FORWARD, TRACED = "forward", "forward in trace()"


def chain(rounds):
    """5 * rounds + 1 nodes in a row, on 1,000 numbers."""
    x = torch.randn(1000, generator=torch.Generator().manual_seed(0), requires_grad=True)

    def loss():
        y = x
        for _ in range(rounds):
            y = torch.sin(torch.tanh(y * 1.01 + 0.1) - 0.05)
        return y.sum()

    return loss, {"x": x}


def transformer(layers):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    model, batch = nn.TransformerEncoder(layer, layers), torch.randn(8, 32, 64)
    return lambda: model(batch).square().mean(), model


def small_mlp():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    batch = torch.randn(16, 8)
    return lambda: model(batch).square().mean(), model


def parameters(model_or_dict):
    return list(
        model_or_dict.parameters()
        if isinstance(model_or_dict, nn.Module)
        else model_or_dict.values()
    )


def ways(loss, wrt):
    leaves = parameters(wrt)

    def plain():
        torch.autograd.grad(loss(), leaves)

    def anomaly():
        with torch.autograd.set_detect_anomaly(True):
            torch.autograd.grad(loss(), leaves)

    def explained():  # and the backward that a training step does in any case
        value = loss()
        explain(value, wrt)
        torch.autograd.grad(value, leaves)

    def traced():
        with trace():
            loss()

    return {PLAIN: plain, ANOMALY: anomaly, EXPLAIN: explained, FORWARD: loss, TRACED: traced}


def measure(ways, turns):
    """Median milliseconds of each way."""
    times = {name: [] for name in ways}
    for name in [*ways, *random.sample(list(ways) * turns, len(ways) * turns)]:
        gc.collect()
        start = time.perf_counter()
        ways[name]()
        times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def main(turns=TURNS, chains=CHAINS, layers=LAYERS):
    torch.set_num_threads(1)
    random.seed(0)
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    print(f"{date.today()}, {versions}, 1 thread, {os.cpu_count()} cores\n")
    columns = [PLAIN, ANOMALY, EXPLAIN, FORWARD, TRACED]
    print("| median ms |", " | ".join(columns), "|\n|---" + "|---" * len(columns) + "|")

    def row(name, case, turns):
        times = measure(ways(*case), turns)
        print(f"| {name} |", " | ".join(f"{times[column]:.2f}" for column in columns), "|")
        return times

    models = {"small MLP": small_mlp(), f"transformer, {layers} layers": transformer(layers)}
    mlp, model = (row(name, case, turns) for name, case in models.items())
    of_chains = {}
    for rounds, chain_turns in chains.items():
        nodes = 5 * rounds + 1
        of_chains[nodes] = row(f"chain, {nodes:,} nodes", chain(rounds), chain_turns)
    print()
    judge(mlp, model, of_chains)


def judge(mlp, model, chains):
    (few, small), (many, large) = chains.items()
    for name, times in [("transformer", model), (f"chain, {few:,} nodes", small)]:
        ratio = extra(times) / times[PLAIN]
        say(ratio <= 4, f"explain() costs at most 4 times a forward + backward, {name}", ratio)
    over = extra(mlp) - 4 * mlp[PLAIN]
    say(over <= 10, "on the small MLP, at most 10 ms more than that (ms over)", over)
    ratio = small[TRACED] / small[FORWARD]
    say(ratio <= 3, "the chain's forward takes at most 3 times as long in trace()", ratio)
    growth = (extra(large) / many) / (extra(small) / few)
    say(growth <= 2, f"explain() per node, {many:,} nodes against {few:,}, at most 2", growth)


def extra(times):
    """Milliseconds that explain() adds to a step."""
    return times[EXPLAIN] - times[PLAIN]


def say(reached, what, value):
    print(f"- {'reached' if reached else 'NOT REACHED'}: {what} ({value:.2f})")


if __name__ == "__main__":
    main()
