"""How long the questions may take."""

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class TimeIsUp(BaseException):
    """Not an Exception, which a check takes for an answer of the function."""


@contextmanager
def until(end: float) -> Iterator[None]:
    """TimeIsUp inside the block as soon as time.monotonic() has passed `end`.

    It is raised between two lines of Python, as KeyboardInterrupt is: one call of a function, such
    as a solver of differential equations, may take longer than all questions should.

    >>> with until(time.monotonic() + 60):
    ...     print("in time")
    in time
    """
    if time.monotonic() >= end:
        raise TimeIsUp
    thread = ctypes.c_ulong(threading.get_ident())
    left = max(0.0, min(end - time.monotonic(), threading.TIMEOUT_MAX))
    timer = threading.Timer(left, _raise_in, [thread, ctypes.py_object(TimeIsUp)])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        _raise_in(thread, None)  # not later, if it has not been raised yet


def _raise_in(thread, error):
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)
