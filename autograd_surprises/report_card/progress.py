"""One line on a terminal that says what is asked now."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def progress(words: str) -> Iterator[None]:
    """Show these words while the block runs, if stderr is a terminal.

    >>> with progress("slope"):
    ...     pass
    """
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if terminal:
        print(f"\r{words}\x1b[K", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
