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
    out, err = _Once(sys.stdout), _Once(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            out.finish()
            err.finish()


class _Once(io.TextIOBase):
    """Passes each line on once. It stays open: what is called may keep `sys.stdout` for later."""

    def __init__(self, stream):
        self._stream, self._rest, self._passed, self._finished = stream, "", set(), False

    def write(self, text):
        if self._finished:
            return self._stream.write(text)
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._say(line)
        return len(text)

    def flush(self):
        self._stream.flush()

    def close(self):
        pass  # called when it is forgotten, and to flush then would cost 5 % of a slider move

    def finish(self):
        if self._rest:
            self._say(self._rest)
        self._finished = True

    def _say(self, line):
        if line in self._passed or len(self._passed) > MOST_LINES:
            return
        self._passed.add(line)
        self._stream.write("…\n" if len(self._passed) > MOST_LINES else f"{line}\n")
