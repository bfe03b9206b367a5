"""Time and memory of helpers/functions, beside torch and the libraries in peers.py.

    python benchmarks/functions.py                      some minutes, on a quiet machine
    python benchmarks/functions.py round_ste sign_ste   only these operators
    python benchmarks/functions.py --store              and store them for the lesson

Needs: pip install -c constraints.txt -e . --group peers. All contenders take turns in random order.
benchmarks/README.md says what is measured, and holds the last result.
"""

import argparse
import gc
import json
import os
import platform
import random
import statistics
from collections import defaultdict
from datetime import date
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from timeit import repeat

import torch
from installed import installed, left_out, need
from peers import CONTENDERS, KINKS, OURS, PEERS, SCALE

import lessons
from lessons.saved_tensors import saved_tensors

ROUNDS, THREADS = 30, (1, 2)
VALUE = 1e-7  # one float32 beside 1: hard + soft - soft.detach() is not always 1
CALLS = {1_000: 50, 100_000: 15, 10_000_000: 1}  # in one turn, for each number of elements
MIDDLE, LARGE = 1, 2  # the second and the third of these
STORED = Path(lessons.__path__[0], "measured", "functions.json")  # for compile_precision_memory

# operator, peers, which numbers of elements, and the part of each peer's time that ours may take,
# on 1 thread
TARGETS = [
    ("round_ste", ["brevitas"], [LARGE], 1.05),
    ("sign_ste", ["brevitas binary, unclipped"], [MIDDLE, LARGE], 0.65),
    ("clamp", ["F.hardtanh"], [MIDDLE, LARGE], 1.0),
    ("step", ["snntorch", "spikingjelly"], [MIDDLE, LARGE], 0.5),
    ("fake_quantize", ["torch"], [MIDDLE, LARGE], 0.4),
    ("fake_quantize, 0 to 255", ["torch"], [MIDDLE, LARGE], 0.4),
    ("lsq_quantize", ["torch"], [MIDDLE], 0.5),
    ("lsq_quantize", ["torch"], [LARGE], 0.9),
    ("argmax_ste", ["as in torch's gumbel_softmax", "vector_quantize_pytorch"], [LARGE], 1.0),
]
SAVED = {"round_ste": 0, "sign_ste": 4, "argmax_ste": 4}  # bytes per element

OPERATORS = list(dict.fromkeys(contender.operator for contender in CONTENDERS))


@lru_cache
def numbers(n):
    """x and an upstream gradient. No x lies at a kink, where gradients differ by design.

    Each x has 14 binary places, so that no contender rounds up what another rounds down.
    """
    x, upstream = torch.randn(2, n, generator=torch.Generator().manual_seed(0)).unbind()
    x = (x * 2**14).round() / 2**14
    for kink in KINKS:
        x.masked_fill_((x - kink).abs() <= SCALE / 2, 0.5)
    return x.requires_grad_(), upstream


class Way:
    """A contender with its numbers. run() goes forward and backward."""

    def __init__(self, contender, n):
        x, self.upstream = numbers(n)
        step = torch.full((1,), SCALE, requires_grad=True)
        inputs = {"x": [x], "x step": [x, step]}
        self.contender, self.inputs = contender, inputs[contender.takes]

    def forward(self):
        return self.contender.function(*self.inputs)

    def run(self):
        y = self.forward()
        return y, torch.autograd.grad(y, self.inputs, self.upstream)


def prepare(operator, n):
    """The ways to compute an operator, each compared with the first, which is ours."""
    ways = [Way(contender, n) for contender in CONTENDERS if contender.operator == operator]
    for way in ways:
        (our_y, our_gradients), (y, gradients) = ways[0].run(), way.run()
        name = f"{operator}, {way.contender.name}"
        same(y, our_y, f"{name}: value", VALUE)
        if not way.contender.differs:
            same(gradients, our_gradients, f"{name}: gradient", 1e-4)
    return ways


def same(found, ours, name, tolerance):
    torch.testing.assert_close(
        found, ours, rtol=tolerance, atol=tolerance, msg=lambda text: f"{name}: {text}"
    )


def bytes_saved(way, n):
    """What the graph keeps for backward, for each of n elements."""
    with saved_tensors() as saved:
        y = way.forward()  # noqa: F841 (it holds the graph)
    return round(saved.bytes / n, 1)


def microseconds(run, calls):
    """The median call. The time to free its results counts, too."""
    return 1e6 * statistics.median(repeat(run, number=1, repeat=calls))


def measure(cells, rounds, calls):
    """For each way and number of threads, the microseconds of each round."""
    taken = defaultdict(list)
    shuffled = random.Random(0)
    for _ in range(rounds):
        for threads in shuffled.sample(THREADS, len(THREADS)):
            torch.set_num_threads(threads)
            for (_, n), ways in shuffled.sample(list(cells.items()), len(cells)):
                for way in shuffled.sample(ways, len(ways)):
                    taken[way, threads].append(microseconds(way.run, calls[n]))
    return taken


def rows(cells, taken):
    """What was measured, as the JSON holds it. A ratio is ours, or the first, to this one."""
    torch.set_num_threads(1)
    middle = sorted({n for _, n in cells})[MIDDLE]  # per element, the bytes of any number agree
    counts = {
        way.contender: bytes_saved(way, n)
        for (_, n), ways in cells.items()
        if n == middle
        for way in ways
    }
    for (operator, n), ways in cells.items():
        for threads in THREADS:
            for way in ways:
                times = taken[way, threads]
                ratios = [a / b for a, b in zip(taken[ways[0], threads], times, strict=True)]
                deciles = statistics.quantiles(ratios, n=10, method="inclusive")
                yield {
                    "operator": operator,
                    "contender": way.contender.name,
                    "elements": n,
                    "threads": threads,
                    "microseconds": round(statistics.median(times), 1),
                    "ratio": round(statistics.median(ratios), 3),
                    "ratio_low": round(deciles[0], 3),
                    "ratio_high": round(deciles[-1], 3),
                    "saved_bytes_per_element": counts[way.contender],
                }


def show(found):
    """Tables: times on each number of threads, and bytes."""
    names = list(dict.fromkeys(key[:2] for key in found))
    sizes = list(dict.fromkeys(key[2] for key in found))
    for threads in THREADS:
        print(
            f"| µs; ours / this, 10 to 90% | {count(threads)} |"
            + "".join(f" {n:,} |" for n in sizes)
        )
        print("|---|---|" + "---|" * len(sizes))
        for name in names:
            print(f"| {' | '.join(name)} |", end="")
            for n in sizes:
                row = found[(*name, n, threads)]
                print(f" {row['microseconds']:,.0f}; {row['ratio']:.2f},", end="")
                print(f" {row['ratio_low']:.2f} to {row['ratio_high']:.2f} |", end="")
            print()
        print()
    print("| bytes per element | | saved for backward |\n|---|---|---|")
    for operator, name in names:
        saved = found[operator, name, sizes[MIDDLE], 1]["saved_bytes_per_element"]
        print(f"| {operator} | {name} | {saved:g} |")


def count(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


def judge(found):
    """Which targets are reached. Where several peers are named, ours has to beat each."""
    measured = {key[:2] for key in found}
    sizes = list(dict.fromkeys(key[2] for key in found))
    for operator, peers, which, limit in TARGETS:
        if not {(operator, peer) for peer in peers} <= measured:
            continue  # not asked for, or not installed
        for n in (sizes[i] for i in which):
            ratio = max(found[operator, peer, n, 1]["ratio"] for peer in peers)
            names = " and ".join(peers)
            say(ratio, limit, f"{operator}, {n:,} elements: at most {limit:g} × {names}")
    for operator, limit in SAVED.items():
        if (operator, OURS) in measured:
            saved = found[operator, OURS, sizes[MIDDLE], 1]["saved_bytes_per_element"]
            say(saved, limit, f"{operator}: at most {limit} bytes saved per element")


def say(value, limit, what):
    print(f"- {'reached' if value <= limit else 'NOT REACHED'}: {what} ({value:.2f})")


def store(about, found):
    """One row a line: a change shows what changed."""
    head = json.dumps(about, indent=2).removesuffix("\n}")
    lines = ",\n".join(f"    {json.dumps(row)}" for row in found)
    STORED.write_text(f'{head},\n  "rows": [\n{lines}\n  ]\n}}\n', encoding="utf-8")


def main(arguments=None, rounds=ROUNDS, calls=CALLS):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("operators", nargs="*", help=f"some of: {'; '.join(OPERATORS)}")
    parser.add_argument("--store", action="store_true", help=f"write {STORED.name}")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.operators) - set(OPERATORS):
        parser.error(f"no operator {', '.join(unknown)}: there are {'; '.join(OPERATORS)}")
    if asked.store and asked.operators:
        parser.error("--store is for a run with all operators")

    versions = {"Python": platform.python_version(), "torch": torch.__version__}
    versions |= {peer: version(peer) for peer in installed(PEERS)}
    about = {"date": str(date.today()), "cores": os.cpu_count(), "versions": versions}
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    print(f"{about['date']}, {named}, {about['cores']} cores{left_out(PEERS)}\n")

    operators = asked.operators or OPERATORS
    torch.set_num_threads(1)
    cells = {(operator, n): prepare(operator, n) for operator in operators for n in calls}
    gc.disable()
    found = list(rows(cells, measure(cells, rounds, calls)))
    keys = ("operator", "contender", "elements", "threads")
    by_key = {tuple(row[key] for key in keys): row for row in found}
    show(by_key)
    print()
    judge(by_key)
    if asked.store:
        store(about, found)


if __name__ == "__main__":
    need(PEERS, "peers")
    main()
