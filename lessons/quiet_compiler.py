"""Compile without the log and the warnings that repeat an error."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_compiler() -> Iterator[None]:
    """Nothing is logged and no warning shown; what is raised, is raised.

    >>> with quiet_compiler():
    ...     logging.getLogger("torch").critical("unheard")
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
