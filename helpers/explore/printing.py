"""What a function prints while a widget calls it, many times for one picture."""

import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

MOST_LINES = 10


@contextmanager
def silence() -> Iterator[None]:
    """Drop what is printed inside, and warnings: the reader did not make this call.

    >>> with silence():
    ...     print("hello")
    """
    nowhere = io.StringIO()
    with redirect_stdout(nowhere), redirect_stderr(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def each_line_once() -> Iterator[None]:
    """Print each line only once, and ten at most: one curve calls its function several times.

    >>> with each_line_once():
    ...     print("hello"); print("hello")
    hello
    """
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield
    finally:
        for said, stream in ((out, sys.stdout), (err, sys.stderr)):
            lines = [*dict.fromkeys(said.getvalue().splitlines())]
            if len(lines) > MOST_LINES:
                lines[MOST_LINES:] = ["…"]
            stream.writelines(f"{line}\n" for line in lines)
