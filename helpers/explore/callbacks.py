"""Handles what a reader does where cells run: matplotlib, torch and print are not for two threads.

New versions of JupyterLab deliver it in a thread of its own, a subshell of the kernel
(https://jupyter.org/enhancement-proposals/91-kernel-subshells/kernel-subshells.html).
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable

from IPython import get_ipython


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
