"""Errors and warnings that a lesson talks about: raised by the cell, and shown in one line."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def expect_error(kind: type[Exception], match: str) -> Iterator[None]:
    """Print the first sentence of the error that the block raises, and go on.

    Raises AssertionError if the block raises nothing, an error of another kind, or one whose
    message does not contain the text `match`.

    >>> with expect_error(ZeroDivisionError, match="by zero"):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    try:
        yield
    except Exception as error:
        line = _first_sentence(error)
        if not isinstance(error, kind):
            raise AssertionError(f"expected {kind.__name__}, but got {line}") from error
        if match not in str(error):
            raise AssertionError(f"expected a message with {match!r}, but got {line}") from error
    else:
        raise AssertionError(f"expected {kind.__name__}, but nothing was raised")
    print(line)


@contextmanager
def expect_warning(kind: type[Warning], match: str) -> Iterator[None]:
    """Print the first sentence of the warning that the block raises. Others pass through.

    Raises AssertionError if there is no warning of this kind with `match` in its message.

    >>> with expect_warning(UserWarning, match="careful"):
    ...     warnings.warn("be careful")
    UserWarning: be careful
    """
    expected, before = [], torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # otherwise a cell that is run again would get no warning
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        torch.set_warn_always(before)
        for warning in caught:
            if issubclass(warning.category, kind) and match in str(warning.message):
                expected.append(warning)
            else:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
    if not expected:
        raise AssertionError(f"expected {kind.__name__} with {match!r}, but no such warning came")
    print(_first_sentence(expected[0].message))


def _first_sentence(error):
    """The rest is advice, and its wording changes with the version of torch."""
    line = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]
    return re.split(r"(?<=\.) (?=[A-Z(])", line)[0].strip()
