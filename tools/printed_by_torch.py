"""What torch prints for the examples of the catalogue of messages, and for the repaired ones."""

import contextlib
import io
import textwrap
import warnings
from functools import cache

import torch
import torch.distributed as dist

from autograd_surprises.messages.entries import PRELUDE


@cache
def printed_by_torch(code: str) -> list[BaseException]:
    """The error that an example raises, or else its warnings, as exceptions.

    An example is run once: an operator, for one, cannot be registered again.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _run(code)
        except Exception as error:
            return [error]
    return [warning.message for warning in caught]


@cache
def output_of(code: str) -> str:
    """What a repaired example prints. Raises whatever torch raises or warns of. It is run once."""
    shown = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(shown):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.func.jvp gets one inside torch
        _run(code)
    return shown.getvalue().rstrip()


@cache
def output_and_errors_of(code: str) -> str:
    """All that a broken example shows: what it prints, and the error or the warnings of torch."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        said = printed_by_torch(code)
    lines = [shown.getvalue().rstrip(), *(f"{type(each).__name__}: {each}" for each in said)]
    return "\n".join(filter(None, lines))


def _run(code):
    torch.set_warn_always(True)  # some come once in a process, and may have come already
    try:  # torch.compile of torch 2.6 imports the module that the code names
        exec(PRELUDE + textwrap.dedent(code), {"__name__": "__main__"})
    finally:
        torch.set_warn_always(False)
        if dist.is_initialized():  # the next example may be about a group that is missing
            dist.destroy_process_group()
