"""Tracebacks that show the reader's code."""

from __future__ import annotations

from traceback import walk_tb
from types import TracebackType

OURS = "autograd_surprises.", "helpers."


def without_our_frames(error: Exception) -> Exception:
    """The error, its traceback without our frames between the reader's code and the origin.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     without_our_frames(error)
    ZeroDivisionError('division by zero')
    """
    kept = None
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        if kept is None or not frame.f_globals["__name__"].startswith(OURS):
            kept = TracebackType(kept, frame, frame.f_lasti, line)
    return error.with_traceback(kept)
