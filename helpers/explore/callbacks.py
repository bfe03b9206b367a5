"""What a reader does: handled where cells run, and with its errors on the page.

New versions of JupyterLab deliver it in a thread of its own, a subshell of the kernel
(https://jupyter.org/enhancement-proposals/91-kernel-subshells/kernel-subshells.html). But
matplotlib, torch and print are not for two threads.
"""

import asyncio
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import ipywidgets
from IPython import get_ipython

from autograd_surprises.show.findings import with_code


def in_this_thread(callback: Callable[..., None]) -> Callable[..., None]:
    """The same callback, run in the thread that calls this function, as soon as it is free.

    At once, if it is called there, or if no event loop runs there, as in plain Python. An error in
    another thread's call is shown as an error of a cell is.

    >>> clicked = in_this_thread(print)
    >>> clicked("Step")
    Step
    """
    thread = threading.current_thread()
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return callback

    @functools.wraps(callback)
    def call(*args):
        if threading.current_thread() is thread:
            callback(*args)
        else:
            loop.call_soon_threadsafe(shown, *args)

    def shown(*args):
        try:
            callback(*args)
        except Exception:
            shell = get_ipython()
            if shell is None:
                raise
            shell.showtraceback()

    return call


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
