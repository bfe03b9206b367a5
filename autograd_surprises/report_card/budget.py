"""How long the questions may take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_end = ContextVar("end", default=math.inf)


class TimeIsUp(BaseException):
    """Not an Exception, which a check takes for an answer of the function."""


@contextmanager
def until(end: float) -> Iterator[None]:
    """Inside the block, `require_time` raises TimeIsUp once time.monotonic() has passed `end`.

    >>> with until(time.monotonic() + 60):
    ...     require_time()
    """
    token = _end.set(end)
    try:
        yield
    finally:
        _end.reset(token)


def require_time() -> None:
    """Raises TimeIsUp if none is left; one call of a function is not interrupted."""
    if time.monotonic() > _end.get():
        raise TimeIsUp
