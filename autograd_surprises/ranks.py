"""The reports of the other processes that train together, as far as they are written by now."""

import json
import os
import time
from collections.abc import Iterator

from autograd_surprises.doctor.replicas import Weights, diverged
from autograd_surprises.show.findings import listed

DIVERGED = (
    "rank {rank}: {names} had the same numbers here and there before step 1, and other numbers "
    "after step 2. Unless that is intended, their gradients are not averaged: "
    "DistributedDataParallel does that"
)


def file_of_rank(file: str | None, rank: int) -> str | None:
    """The file in which a process writes its report.

    >>> file_of_rank("report.json", 0), file_of_rank("report.json", 2)
    ('report.json', 'report.rank2.json')
    """
    if not file or not rank:
        return file
    stem, ending = os.path.splitext(file)
    return f"{stem}.rank{rank}{ending}"


def of_other_ranks(
    file: str, size: int, weights: Weights, since: float, patience: float
) -> Iterator[str]:
    """A line for each other rank: what its file says, and whether its weights are others.

    since     older files belong to an earlier run: seconds, as time.time() counts them
    patience  for so many seconds, files that are not there yet are waited for

    >>> list(of_other_ranks("no/report.json", 2, {}, 0.0, 0.0))
    ['rank 1: no report so far']
    """
    end = time.monotonic() + patience
    for rank in range(1, size):
        found = _read(file_of_rank(file, rank), since)
        while found is None and time.monotonic() < end:
            time.sleep(0.05)
            found = _read(file_of_rank(file, rank), since)
        if found is None:
            yield f"rank {rank}: no report so far"
            continue
        if not found["healthy"]:
            yield found["summary"]
        others = diverged(weights, found["weights"])
        if others:
            yield DIVERGED.format(rank=rank, names=listed(others, most=3))


def _read(file, since):
    """The report in a file of this run, or None."""
    try:
        if os.path.getmtime(file) < since:
            return None
        with open(file, encoding="utf-8") as text:
            return json.load(text)
    except (OSError, ValueError):  # not there yet, or only in part
        return None
