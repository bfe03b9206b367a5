"""Each trick of helpers/functions beside its plainer spelling: is it worth it?

    python benchmarks/arithmetic.py     half a minute

Both take turns in random order, on one thread. benchmarks/README.md holds the last result.
"""

import functools
import gc
import os
import platform
import random
import statistics
from datetime import date
from timeit import repeat

import torch

from helpers.functions import RoundSTE, apply_anywhere
from helpers.functions.anywhere import identity
from helpers.functions.arithmetic import (
    _intervals,
    divide,
    ends_of_bins,
    softmax_backward,
    sum_of_products,
    where_inside,
    where_within,
    zero_or_one,
)

VISITS = 40
CALLS = {1_000: 50, 100_000: 15, 10_000_000: 1}  # at each visit, for each number of elements
SCALE, FIRST, LAST = 1 / 64, -128, 127
FLOAT32, CPU = torch.float32, torch.device("cpu")


def within_uncached(g, x):
    return where_inside(g, x, *_intervals.__wrapped__(-1, 1, FLOAT32)[1])


def inside_last_bins(g, x):
    return where_inside(g, x, *ends_of_bins(SCALE, FIRST, LAST, FLOAT32, CPU))


def rounded_again(g, x):
    return where_inside(g, x.div(SCALE).round_(), FIRST - 0.5, LAST + 0.5)


def ends_uncached(g, x):
    return where_inside(g, x, *ends_of_bins.__wrapped__(SCALE, FIRST, LAST, FLOAT32, CPU))


def rows(x):
    """As rows of 100 numbers."""
    return x.unflatten(0, (-1, 100))


def softmax_backward_by_formula(g, p):
    weighted = p * g
    return weighted - p * weighted.sum(-1, keepdim=True)


# what, ours, plainer: both of an upstream gradient g and x
PAIRS = [
    (
        "apply_anywhere → Function.apply",
        lambda g, x: apply_anywhere(RoundSTE, x, proxy=identity),
        lambda g, x: RoundSTE.apply(x),
    ),
    (
        "where_inside → torch.where",
        lambda g, x: where_inside(g, x, -1, 1),
        lambda g, x: torch.where((x > -1) & (x < 1), g, 0),
    ),
    ("where_within → without a cache", lambda g, x: where_within(g, x, -1, 1), within_uncached),
    ("ends_of_bins → round again", inside_last_bins, rounded_again),
    ("ends_of_bins → without a cache", inside_last_bins, ends_uncached),
    (
        "sum_of_products → (a * b).sum()",
        lambda g, x: sum_of_products(g, x, torch.Size([])),
        lambda g, x: (g * x).sum(),
    ),
    (
        "zero_or_one → (x >= 0).to(x.dtype)",
        lambda g, x: zero_or_one(x),
        lambda g, x: (x >= 0).to(x.dtype),
    ),
    (
        "softmax_backward → by formula",
        lambda g, x: softmax_backward(rows(g), rows(x), -1),
        lambda g, x: softmax_backward_by_formula(rows(g), rows(x)),
    ),
    ("divide by 1 → x / 1", lambda g, x: divide(x, 1.0), lambda g, x: x / 1.0),
]


def main(visits=VISITS, calls=CALLS):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(
        f"{date.today()}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"1 thread, {os.cpu_count()} cores\n"
    )
    ways = {}
    for n in calls:
        numbers = torch.randn(2, n).unbind()
        for title, *pair in PAIRS:
            ways[title, n] = [functools.partial(way, *numbers) for way in pair]
    gc.disable()
    taken, shuffled = {cell: [] for cell in ways}, random.Random(0)
    for _ in range(visits):
        for (title, n), pair in shuffled.sample(list(ways.items()), len(ways)):
            times = [0.0, 0.0]
            for i in shuffled.sample([0, 1], 2):
                times[i] = 1e6 * statistics.median(repeat(pair[i], number=1, repeat=calls[n]))
            taken[title, n].append(times)
    print(f"| ours → plainer, µs; plainer / ours |{''.join(f' {n:,} |' for n in calls)}")
    print("|---|" + "---|" * len(calls))
    for title, *_ in PAIRS:
        print(f"| {title} |", end="")
        for n in calls:
            ours, plainer = (statistics.median(way) for way in zip(*taken[title, n], strict=True))
            ratio = statistics.median(b / a for a, b in taken[title, n])
            print(f" {ours:,.1f} → {plainer:,.1f}; {ratio:.1f} |", end="")
        print()


if __name__ == "__main__":
    main()
