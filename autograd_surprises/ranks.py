"""The reports of the other processes that train together, as far as they are written by now."""

import json
import os
import time
from collections.abc import Iterator


def file_of_rank(file: str | None, rank: int) -> str | None:
    """The file in which a process writes its report.

    >>> file_of_rank("report.json", 0), file_of_rank("report.json", 2)
    ('report.json', 'report.rank2.json')
    """
    if not file or not rank:
        return file
    stem, ending = os.path.splitext(file)
    return f"{stem}.rank{rank}{ending}"


def of_other_ranks(file: str, size: int, since: float, patience: float) -> Iterator[str]:
    """A line for each other rank: what its file says, if that is bad.

    since     older files belong to an earlier run: seconds, as time.time() counts them
    patience  for so many seconds, files that are not there yet are waited for

    >>> list(of_other_ranks("no/report.json", 2, 0.0, 0.0))
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
        elif not found["healthy"]:
            yield found["summary"]


def _read(file, since):
    """The report in a file of this run, or None."""
    try:
        if os.path.getmtime(file) < since:
            return None
        with open(file, encoding="utf-8") as text:
            return json.load(text)
    except (OSError, ValueError):  # not there yet, or only in part
        return None
