"""Searches that ask a function for numbers, several of them in one call.

A search is a generator. It yields the points where it wants to know the function, float64 of shape
(n,), and how many rows of numbers it wants there: 1 for values, 2 for values and gradients. It is
sent these rows, or more.
"""

from collections.abc import Callable, Generator

import torch


def run(search: Generator, function: Callable):
    """What a search finds; `function` takes points and the number of rows, and returns the rows.

    >>> def highest(x):
    ...     (y,) = yield x, 1
    ...     return x[y.argmax()].item()
    >>> run(highest(torch.linspace(-1, 2, 4)), lambda x, rows: [x.square()])
    2.0
    """
    answer = None
    while True:
        try:
            x, rows = search.send(answer)
        except StopIteration as stop:
            return stop.value
        answer = function(x, rows)


def together(*searches: Generator) -> Generator:
    """One search that finds what each of these does, and asks for all their points at once.

    >>> def number(x):
    ...     (y,) = yield torch.tensor([x]), 1
    ...     return y.item()
    >>> run(together(number(1.0), number(2.0)), lambda x, rows: print(x) or [-x])
    tensor([1., 2.])
    [-1.0, -2.0]
    """
    found = [None] * len(searches)
    answers = dict.fromkeys(range(len(searches)))
    while True:
        asked = {}
        for i, answer in answers.items():
            try:
                asked[i] = searches[i].send(answer)
            except StopIteration as stop:
                found[i] = stop.value
        if not asked:
            return found
        points, rows = zip(*asked.values(), strict=True)
        numbers = yield torch.cat(points), max(rows)
        parts = [row.split([len(x) for x in points]) for row in numbers]
        answers = dict(zip(asked, zip(*parts, strict=True), strict=True))
