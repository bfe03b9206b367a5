"""Shows the progress and the errors of a callback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import ipywidgets

from autograd_surprises.show.findings import with_code


class Alert(ipywidgets.HTML):
    """A line that says what a callback does now, or, in red, what went wrong in it. Often empty.

    >>> alert = Alert()
    >>> with alert.on_error("Choose another step."):
    ...     pass
    """

    @property
    def shows_error(self) -> bool:
        return 'role="alert"' in self.value

    def say(self, text: str):
        """Say what the callback does now."""
        self.value = f'<div role="status">{with_code(text)}</div>'

    @contextmanager
    def on_error(self, advice: str = "") -> Iterator[None]:
        """Show an error that is raised inside, with advice, and raise it again.

        Otherwise the browser that caused the callback would not show the error: it reaches only a
        log. Without an error, one that is shown is cleared.
        """
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:  # the kernel may be interrupted
            line = "<br>".join(filter(None, [with_code(error_line(error)), advice]))
            red = "var(--jp-error-color1, #b00020)"
            self.value = f'<div role="alert" style="color: {red}">{line}</div>'
            raise
        if self.shows_error:
            self.value = ""


def error_line(error: BaseException) -> str:
    """An error as a callback shows it.

    >>> error_line(ValueError("too high")), error_line(KeyboardInterrupt())
    ('ValueError: too high', 'KeyboardInterrupt')
    """
    return f"{type(error).__name__}: {error}".removesuffix(": ")
