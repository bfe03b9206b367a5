"""An error in a callback, for whoever moved the slider."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager

import ipywidgets


class Alert(ipywidgets.HTML):
    """A line in red that says what went wrong in a callback; empty if nothing did.

    >>> alert = Alert()
    >>> with alert.on_error("Choose another step."):
    ...     pass
    """

    @contextmanager
    def on_error(self, advice: str = "") -> Iterator[None]:
        """Show an error that is raised inside, with advice, and raise it again.

        Otherwise the browser that caused the callback would not show the error: it reaches only a
        log. Without an error, the alert is cleared.
        """
        try:
            yield
        except Exception as error:
            text = html.escape(f"{type(error).__name__}: {error}")
            line = "<br>".join(filter(None, [text, advice]))
            red = "var(--jp-error-color1, #b00020)"
            self.value = f'<div role="alert" style="color: {red}">{line}</div>'
            raise
        self.value = ""
